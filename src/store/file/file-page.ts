import type { TimerRow } from '../../timer/index.js'
import type { Page } from '../store.js'
import { type Chunk, rowOf } from './chunk.js'
import type { Segment } from './segment.js'

/** Rows of a page: three columns, and for the rest the chunks they lie in, from which a row is made when asked. */
export class FilePage implements Page {
  size = 0
  bytes = 0
  positions: Float64Array
  revisions: Float64Array
  dueAts: Float64Array
  readonly #chunks: Chunk[]
  readonly #ordinals: Uint32Array
  readonly #taken = new Map<number, Chunk>()

  constructor(most: number) {
    this.positions = new Float64Array(most)
    this.revisions = new Float64Array(most)
    this.dueAts = new Float64Array(most)
    this.#ordinals = new Uint32Array(most)
    this.#chunks = new Array<Chunk>(most)
  }

  row(index: number): TimerRow {
    return rowOf(this.#chunks[index]!, this.#ordinals[index]!, false)
  }

  /** Takes over the row of a segment that has this number. */
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

  /** Those that the segment does not keep are read once for a page. */
  #chunkOf(segment: Segment, slot: number): Chunk {
    const kept = segment.chunks[slot] ?? this.#taken.get(segment.refs[slot]!)
    if (kept !== undefined) return kept
    const chunk = segment.chunk(slot)
    this.#taken.set(segment.refs[slot]!, chunk)
    return chunk
  }

  /** No more rows come. */
  close(): this {
    this.#taken.clear()
    this.positions = this.positions.subarray(0, this.size)
    this.revisions = this.revisions.subarray(0, this.size)
    this.dueAts = this.dueAts.subarray(0, this.size)
    return this
  }
}
