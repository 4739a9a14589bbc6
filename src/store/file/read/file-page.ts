import type { TimerRow } from '../../../timer/index.js'
import type { RowPage } from '../../store.js'
import { type Chunk, rowOf } from '../rows/chunk.js'
import type { Segment } from './segment.js'

/** A page of rows: three columns, and the chunks of the rows. A row object is built only on demand. */
export class FilePage implements RowPage {
  size = 0
  bytes = 0
  positions: Float64Array
  revisions: Float64Array
  dueAts: Float64Array
  readonly #chunks: Chunk[]
  readonly #ordinals: Uint32Array
  readonly #readChunks = new Map<number, Chunk>()

  constructor(maxRows: number) {
    this.positions = new Float64Array(maxRows)
    this.revisions = new Float64Array(maxRows)
    this.dueAts = new Float64Array(maxRows)
    this.#ordinals = new Uint32Array(maxRows)
    this.#chunks = new Array<Chunk>(maxRows)
  }

  row(index: number): TimerRow {
    return rowOf(this.#chunks[index]!, this.#ordinals[index]!, false)
  }

  /** Adds the segment's row of this number. */
  add(segment: Segment, number: number): void {
    const { rows } = segment
    const index = this.size++
    this.positions[index] = rows.position(number)
    this.revisions[index] = rows.revision(number)
    this.dueAts[index] = rows.dueAt(number)
    this.bytes += rows.bytes(number)
    this.#chunks[index] = this.#chunkOf(segment, rows.slot(number))
    this.#ordinals[index] = rows.ordinal(number)
  }

  /** A chunk that the segment does not keep is read once per page. */
  #chunkOf(segment: Segment, slot: number): Chunk {
    const kept = segment.chunks[slot] ?? this.#readChunks.get(segment.refs[slot]!)
    if (kept !== undefined) return kept
    const chunk = segment.chunk(slot)
    this.#readChunks.set(segment.refs[slot]!, chunk)
    return chunk
  }

  /** Trims the columns, after the last row. */
  close(): this {
    this.#readChunks.clear()
    this.positions = this.positions.subarray(0, this.size)
    this.revisions = this.revisions.subarray(0, this.size)
    this.dueAts = this.dueAts.subarray(0, this.size)
    return this
  }
}
