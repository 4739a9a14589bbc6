import type { TimerRow } from '../../timer/index.js'
import type { RowPage } from '../store.js'
import { chunkRows, eachInChunk } from './codec/chunk.js'
import { positionAt, revisionAt } from './codec/place-codec.js'
import { dueAtOf, rowAt, ScopeReader } from './codec/row-codec.js'
import type { RowMatcher } from './codec/row-matcher.js'
import { type ByteView, byteViewOf } from './codec/byte-view.js'

// The memory that a row takes beside its bytes.
const ROW_OVERHEAD_BYTES = 160

/**
 * A page of rows as the load script sent them. The page sorts them by place, and builds a row only when it is asked for.
 *
 * Proven by test/store/redis/chunks.test.ts and the store contract.
 */
export class RedisPage implements RowPage {
  readonly size: number
  readonly bytes: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly dueAts: Float64Array
  /** The buffer that holds each row's value, and the value's bounds in it. */
  readonly #buffers: ByteView[] = []
  readonly #froms: Uint32Array
  readonly #ends: Uint32Array
  /** The rows' indexes in the order of their places. Undefined when they arrived in that order. */
  readonly #order: Uint32Array | undefined
  readonly #scope = new ScopeReader()

  /** `flat` has fields and values of hashes in turn. A chunk may contain rows that were removed. */
  constructor(flat: readonly Buffer[], chunks: readonly Buffer[]) {
    const buffers = chunks.map(byteViewOf)
    const capacity = buffers.reduce((sum, buffer) => sum + chunkRows(buffer), flat.length / 2)
    const positions = new Float64Array(capacity)
    const revisions = new Float64Array(capacity)
    this.#froms = new Uint32Array(capacity)
    this.#ends = new Uint32Array(capacity)
    let size = 0
    let bytes = 0
    let isSorted = true
    const add = (buffer: ByteView, position: number, revision: number, from: number, end: number): void => {
      positions[size] = position
      revisions[size] = revision
      this.#buffers.push(buffer)
      this.#froms[size] = from
      this.#ends[size] = end
      bytes += ROW_OVERHEAD_BYTES + end - from
      if (size > 0 && compareAt(positions, revisions, size - 1, size) > 0) isSorted = false
      size++
    }
    for (let index = 0; index < flat.length; index += 2) {
      const place = flat[index]!
      const buffer = byteViewOf(flat[index + 1]!)
      add(buffer, positionAt(place, 0), revisionAt(place, 0), 0, buffer.bytes.length)
    }
    for (const buffer of buffers) {
      eachInChunk(buffer, (position, revision, from, end) => add(buffer, position, revision, from, end))
    }
    this.size = size
    this.bytes = bytes
    this.#order = isSorted ? undefined : Uint32Array.from({ length: size }, (_, index) => index)
    this.#order?.sort((a, b) => compareAt(positions, revisions, a, b))
    this.positions = this.#inOrder(positions)
    this.revisions = this.#inOrder(revisions)
    this.dueAts = new Float64Array(size)
    for (let index = 0; index < size; index++) {
      const at = this.#sourceIndex(index)
      this.dueAts[index] = dueAtOf(this.#buffers[at]!, this.#froms[at]!)
    }
  }

  row(index: number): TimerRow {
    const place = { position: this.positions[index]!, revision: this.revisions[index]! }
    const at = this.#sourceIndex(index)
    return rowAt(place, this.#buffers[at]!, this.#froms[at]!, this.#ends[at]!, this.#scope)
  }

  /** Whether the row at an index may match. */
  mayMatch(index: number, matcher: RowMatcher): boolean {
    const at = this.#sourceIndex(index)
    return matcher.mayMatch(this.#buffers[at]!, this.#froms[at]!, this.dueAts[index]!)
  }

  /** The index of arrival of the row at an index of the page. */
  #sourceIndex(index: number): number {
    return this.#order === undefined ? index : this.#order[index]!
  }

  #inOrder(column: Float64Array): Float64Array {
    return this.#order === undefined
      ? column.subarray(0, this.size)
      : Float64Array.from(this.#order, (at) => column[at]!)
  }
}

function compareAt(positions: Float64Array, revisions: Float64Array, a: number, b: number): number {
  return positions[a]! - positions[b]! || revisions[a]! - revisions[b]!
}
