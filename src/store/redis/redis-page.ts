import type { TimerRow } from '../../timer/index.js'
import type { Page } from '../store.js'
import { positionAt, revisionAt } from './place-text.js'
import { dueAtOf, rowAt, Scopes } from './row-codec.js'

// What a row weighs in memory beside its bytes.
const ROW_BYTES = 160

/** A page of rows as they came from their parts: put in order here, made into rows when they are asked for. */
export class RedisPage implements Page {
  readonly size: number
  readonly bytes: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly dueAts: Float64Array
  readonly #values: Buffer[]
  readonly #scopes = new Scopes()

  /** Fields and values in turn. */
  constructor(flat: readonly Buffer[]) {
    const size = flat.length / 2
    const places = new Float64Array(2 * size)
    const order = new Uint32Array(size)
    let isSorted = true
    for (let index = 0; index < size; index++) {
      const field = flat[2 * index]!
      places[2 * index] = positionAt(field, 0)
      places[2 * index + 1] = revisionAt(field, 0)
      order[index] = index
      if (index > 0 && compareAt(places, index - 1, index) > 0) isSorted = false
    }
    if (!isSorted) order.sort((a, b) => compareAt(places, a, b))
    this.size = size
    this.positions = new Float64Array(size)
    this.revisions = new Float64Array(size)
    this.dueAts = new Float64Array(size)
    this.#values = new Array<Buffer>(size)
    let bytes = 0
    for (let index = 0; index < size; index++) {
      const from = order[index]!
      const value = flat[2 * from + 1]!
      this.positions[index] = places[2 * from]!
      this.revisions[index] = places[2 * from + 1]!
      this.dueAts[index] = dueAtOf(value)
      this.#values[index] = value
      bytes += ROW_BYTES + value.length
    }
    this.bytes = bytes
  }

  row(index: number): TimerRow {
    const place = { position: this.positions[index]!, revision: this.revisions[index]! }
    return rowAt(place, this.#values[index]!, this.#scopes)
  }
}

function compareAt(places: Float64Array, a: number, b: number): number {
  return places[2 * a]! - places[2 * b]! || places[2 * a + 1]! - places[2 * b + 1]!
}
