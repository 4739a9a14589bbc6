import type { TimerRow } from '../../timer/index.js'
import type { Page } from '../store.js'
import { chunkRows, eachInChunk } from './chunk.js'
import { positionAt, revisionAt } from './place-text.js'
import { dueAtOf, rowAt, Scopes } from './row-codec.js'
import { type Sheet, sheetOf } from './sheet.js'

// What a row weighs in memory beside its bytes.
const ROW_BYTES = 160

/** A page of rows as they came from their parts: put in order here, made into rows when they are asked for. */
export class RedisPage implements Page {
  readonly size: number
  readonly bytes: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly dueAts: Float64Array
  /** What the value of each lies in, and from where to where. */
  readonly #sheets: Sheet[] = []
  readonly #froms: Uint32Array
  readonly #ends: Uint32Array
  /** Which of them comes when; undefined when they came in order. */
  readonly #order: Uint32Array | undefined
  readonly #scopes = new Scopes()

  /** Fields and values of hashes in turn, and chunks, in which not all rows need to stand. */
  constructor(flat: readonly Buffer[], chunks: readonly Buffer[]) {
    const sheets = chunks.map(sheetOf)
    const most = sheets.reduce((sum, sheet) => sum + chunkRows(sheet), flat.length / 2)
    const positions = new Float64Array(most)
    const revisions = new Float64Array(most)
    this.#froms = new Uint32Array(most)
    this.#ends = new Uint32Array(most)
    let size = 0
    let bytes = 0
    let isSorted = true
    const add = (sheet: Sheet, position: number, revision: number, from: number, end: number): void => {
      positions[size] = position
      revisions[size] = revision
      this.#sheets.push(sheet)
      this.#froms[size] = from
      this.#ends[size] = end
      bytes += ROW_BYTES + end - from
      if (size > 0 && compareAt(positions, revisions, size - 1, size) > 0) isSorted = false
      size++
    }
    for (let index = 0; index < flat.length; index += 2) {
      const place = flat[index]!
      const sheet = sheetOf(flat[index + 1]!)
      add(sheet, positionAt(place, 0), revisionAt(place, 0), 0, sheet.bytes.length)
    }
    for (const sheet of sheets) {
      eachInChunk(sheet, (position, revision, from, end) => add(sheet, position, revision, from, end))
    }
    this.size = size
    this.bytes = bytes
    this.#order = isSorted ? undefined : Uint32Array.from({ length: size }, (_, index) => index)
    this.#order?.sort((a, b) => compareAt(positions, revisions, a, b))
    this.positions = this.#inOrder(positions)
    this.revisions = this.#inOrder(revisions)
    this.dueAts = new Float64Array(size)
    for (let index = 0; index < size; index++) {
      const at = this.#at(index)
      this.dueAts[index] = dueAtOf(this.#sheets[at]!, this.#froms[at]!)
    }
  }

  row(index: number): TimerRow {
    const place = { position: this.positions[index]!, revision: this.revisions[index]! }
    const at = this.#at(index)
    return rowAt(place, this.#sheets[at]!, this.#froms[at]!, this.#ends[at]!, this.#scopes)
  }

  /** Which of those that came stands there. */
  #at(index: number): number {
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
