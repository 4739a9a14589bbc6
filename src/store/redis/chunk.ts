import type { Sheet } from './sheet.js'

/*
 * Chunks as the scripts have them (scripts/chunk.lua.ts): a head, an entry for each row in the order of places, and
 * the values. Head: how many rows, how many of them stand (4 bytes each), what revisions count from (8), where the
 * first value begins (4). Entry: position, revision (8 each), where the value ends (4). A row that was taken out has
 * -1 - position.
 */
const STANDING = 4
const BASE = 8
const FROM = 16
const ENTRY_BYTES = 20
const REVISION = 8
const END = 16

/** Where the values of so many rows begin. */
export function chunkValuesAt(rows: number): number {
  return ENTRY_BYTES * (rows + 1)
}

/** Writes the head of a chunk whose values begin with the first. */
export function writeChunkHead({ view }: Sheet, rows: number, base: number): void {
  view.setUint32(0, rows, true)
  view.setUint32(STANDING, rows, true)
  view.setFloat64(BASE, base, true)
  view.setUint32(FROM, 0, true)
}

/** Writes the entry of a row by its number; `end` is where its value ends, counted from the first value. */
export function writeChunkEntry(
  { view }: Sheet,
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

/** How many rows a chunk was made of; not all of them need to stand. */
export function chunkRows({ view }: Sheet): number {
  return view.getUint32(0, true)
}

/** Calls with place and value, from where to where, of each row that stands, in their order. */
export function eachInChunk(
  chunk: Sheet,
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
