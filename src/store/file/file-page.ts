import type { TimerRow } from '../../timer/index.js'
import type { Page } from '../store.js'
import { type Chunk, dueAtOf, rowOf, tailBytes } from './chunk.js'
import type { RowTable } from './row-table.js'
import type { Segment } from './segment.js'

const ROW_OVERHEAD = 48

/** Rows of a page: three columns, and for the rest the chunks they lie in, from which a row is made when asked. */
export class FilePage implements Page {
  size = 0
  bytes = 0
  positions: Float64Array
  revisions: Float64Array
  dueAts: Float64Array
  readonly #chunks: Chunk[]
  readonly #ordinals: Uint32Array
  #lastRef = -1

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

  /** Takes over a row of a segment. */
  add(table: RowTable, segment: Segment, at: number): void {
    const ref = segment.refs[at]!
    const ordinal = segment.ordinals[at]!
    const chunk = ref === this.#lastRef ? this.#chunks[this.size - 1]! : chunkOf(table, segment, ref)
    this.#lastRef = ref
    const index = this.size++
    this.positions[index] = segment.positions[at]!
    this.revisions[index] = segment.revisions[at]!
    this.dueAts[index] = dueAtOf(chunk, ordinal)
    this.#chunks[index] = chunk
    this.#ordinals[index] = ordinal
    this.bytes += ROW_OVERHEAD + tailBytes(chunk, chunk.tail(ordinal))
  }

  /** No more rows come. */
  close(): this {
    this.positions = this.positions.subarray(0, this.size)
    this.revisions = this.revisions.subarray(0, this.size)
    this.dueAts = this.dueAts.subarray(0, this.size)
    return this
  }
}

function chunkOf(table: RowTable, segment: Segment, ref: number): Chunk {
  let chunk = segment.kept.get(ref)
  if (chunk === undefined) {
    chunk = table.take(ref)
    segment.kept.set(ref, chunk)
  }
  return chunk
}
