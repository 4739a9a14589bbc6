import type { ByteView } from './byte-view.js'

/*
 * Chunks as the scripts store them (scripts/chunk.lua.ts): a head, an entry for each row in the order of places, and
 * the values in the same order.
 *
 * - Head: the number of rows, the number of live rows (4 bytes each), the base of the revisions (8), the offset of the
 *   first value (4).
 * - Entry: position, revision less the base (8 each), the offset of the value's end (4). A row that was removed has
 *   -1 - position.
 */
const LIVE = 4
const BASE = 8
const FROM = 16
const ENTRY_BYTES = 20
const REVISION = 8
const END = 16

/** Where the values begin in a chunk of `rows` rows. */
export function chunkValuesAt(rows: number): number {
  return ENTRY_BYTES * (rows + 1)
}

/** Writes the head of a new chunk, in which all rows are live and offsets count from 0. */
export function writeChunkHead({ view }: ByteView, rows: number, base: number): void {
  view.setUint32(0, rows, true)
  view.setUint32(LIVE, rows, true)
  view.setFloat64(BASE, base, true)
  view.setUint32(FROM, 0, true)
}

/** Writes the entry of a row. `end` is where its value ends, counted from the first value. */
export function writeChunkEntry(
  { view }: ByteView,
  index: number,
  position: number,
  revision: number,
  end: number,
): void {
  const at = ENTRY_BYTES * (index + 1)
  view.setFloat64(at, position, true)
  view.setFloat64(at + REVISION, revision, true)
  view.setUint32(at + END, end, true)
}

/** How many rows a chunk has, including removed ones. */
export function chunkRows({ view }: ByteView): number {
  return view.getUint32(0, true)
}

/** Calls `visit` for each live row in order, with its place and the bounds of its value. */
export function eachInChunk(
  chunk: ByteView,
  visit: (position: number, revision: number, from: number, end: number) => void,
): void {
  const { view } = chunk
  const rows = chunkRows(chunk)
  const base = view.getFloat64(BASE, true)
  let from = chunkValuesAt(rows)
  const shift = from - view.getUint32(FROM, true)
  for (let at = ENTRY_BYTES, index = 0; index < rows; index++, at += ENTRY_BYTES) {
    const end = shift + view.getUint32(at + END, true)
    const position = view.getFloat64(at, true)
    if (position >= 0) visit(position, base + view.getFloat64(at + REVISION, true), from, end)
    from = end
  }
}
