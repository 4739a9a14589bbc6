import type { TimerRow } from '../../timer/index.js'
import type { RowPage } from '../store.js'
import type { MemoryRows } from './memory-rows.js'
import { recordLayout, type RowExtra, rowOfRecord, type Scope } from './row-record.js'

const { doubles, DUE_AT, POSITION, REVISION } = recordLayout
const ROW_BYTES = 160

/** About how many bytes of memory a row needs. */
export function bytesOf(rows: MemoryRows, slot: number): number {
  const details = rows.extra(slot)?.details.length ?? 0
  return ROW_BYTES + rows.payloadBytes(slot) + 2 * (rows.keyBytes(slot) + details)
}

/** Rows as they were when they were loaded: a copy, because the store uses their slots again. */
export class MemoryPage implements RowPage {
  readonly size: number
  readonly bytes: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly dueAts: Float64Array
  readonly #numbers: Float64Array
  readonly #words: Int32Array
  readonly #scopes: Scope[] = []
  readonly #extras = new Map<number, RowExtra>()
  /** The keys and the payloads. */
  readonly #texts: Buffer
  readonly #ends: Float64Array

  /** `bytes` is about how much memory the rows need. */
  constructor(rows: MemoryRows, slots: readonly number[], bytes: number) {
    const size = slots.length
    this.size = size
    this.bytes = bytes
    this.positions = new Float64Array(size)
    this.revisions = new Float64Array(size)
    this.dueAts = new Float64Array(size)
    this.#numbers = new Float64Array(size * doubles)
    this.#words = new Int32Array(this.#numbers.buffer)
    this.#ends = new Float64Array(size)
    let end = 0
    for (let index = 0; index < size; index++) {
      const slot = slots[index]!
      this.#ends[index] = end += rows.keyBytes(slot) + rows.payloadBytes(slot)
    }
    this.#texts = Buffer.allocUnsafeSlow(end)
    for (let index = 0; index < size; index++) this.#copy(rows, slots[index]!, index)
  }

  /** The row. Its payload shares the bytes of the page. */
  row(index: number): TimerRow {
    return rowOfRecord(
      this.#numbers,
      this.#words,
      index,
      this.#texts,
      this.#from(index),
      this.#scopes[index]!,
      this.#extras.get(index),
      false,
    )
  }

  #copy(rows: MemoryRows, slot: number, index: number): void {
    const { numbers, words, record, bytes, at } = rows.parts(slot)
    const from = record * doubles
    // As integers: a double that holds two of them may be NaN, whose bits JavaScript does not keep.
    for (let field = 0; field < 2 * doubles; field++) {
      this.#words[2 * doubles * index + field] = words[2 * from + field]!
    }
    this.positions[index] = numbers[from + POSITION]!
    this.revisions[index] = numbers[from + REVISION]!
    this.dueAts[index] = numbers[from + DUE_AT]!
    const textFrom = this.#from(index)
    bytes.copy(this.#texts, textFrom, at, at + this.#ends[index]! - textFrom)
    this.#scopes.push(rows.scope(slot))
    const extra = rows.extra(slot)
    if (extra !== undefined) this.#extras.set(index, extra)
  }

  #from(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!
  }
}
