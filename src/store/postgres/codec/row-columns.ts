import type { TimerRow } from '../../../timer/index.js'
import type { RowPage } from '../../store.js'
import { arrayOf, numberOf } from './answer-row.js'
import { ArrayElements, int8Values } from './binary-array.js'
import type { Row } from '../net/driver.js'
import { rowColumns } from '../schema/owner.js'

export const rowColumnNames = rowColumns.map(([name]) => name)

/** Rows as the database returns them: one array for each column. A row object is made when it is read. */
export class RowColumns implements RowPage {
  readonly size: number
  readonly bytes: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly dueAts: Float64Array
  readonly #columns: Row
  #lazy: LazyColumns | undefined

  constructor(columns: Row) {
    this.#columns = columns
    this.positions = int8Values(arrayOf(columns, 'positions'))
    this.revisions = int8Values(arrayOf(columns, 'revisions'))
    this.dueAts = int8Values(arrayOf(columns, 'due_ats'))
    this.size = this.positions.length
    this.bytes = numberOf(columns, 'bytes')
  }

  row(index: number): TimerRow {
    const lazy = (this.#lazy ??= lazyColumnsOf(this.#columns))
    return {
      namespace: lazy.namespaces.string(index),
      kind: lazy.kinds.string(index),
      key: lazy.keys.string(index),
      identity: lazy.identities[index]!,
      createdAt: lazy.createdAts[index]!,
      payload: lazy.payloads.bytes(index),
      tags: tagsOf(lazy.tags.string(index)),
      details: lazy.details.string(index),
      dueAt: this.dueAts[index]!,
      attempt: lazy.attempts[index]!,
      occurrence: lazy.occurrences[index]!,
      position: this.positions[index]!,
      revision: this.revisions[index]!,
    }
  }

  rows(): TimerRow[] {
    return Array.from({ length: this.size }, (_, index) => this.row(index))
  }
}

/** The columns that are decoded at the first row. */
interface LazyColumns {
  readonly identities: Float64Array
  readonly createdAts: Float64Array
  readonly attempts: Float64Array
  readonly occurrences: Float64Array
  readonly namespaces: ArrayElements
  readonly kinds: ArrayElements
  readonly keys: ArrayElements
  readonly tags: ArrayElements
  readonly details: ArrayElements
  readonly payloads: ArrayElements
}

function lazyColumnsOf(columns: Row): LazyColumns {
  return {
    identities: int8Values(arrayOf(columns, 'identities')),
    createdAts: int8Values(arrayOf(columns, 'created_ats')),
    attempts: int8Values(arrayOf(columns, 'attempts')),
    occurrences: int8Values(arrayOf(columns, 'occurrences')),
    namespaces: new ArrayElements(arrayOf(columns, 'namespaces')),
    kinds: new ArrayElements(arrayOf(columns, 'kinds')),
    keys: new ArrayElements(arrayOf(columns, 'keys')),
    tags: new ArrayElements(arrayOf(columns, 'tags')),
    details: new ArrayElements(arrayOf(columns, 'details')),
    payloads: new ArrayElements(arrayOf(columns, 'payloads')),
  }
}

const noTags: readonly string[] = Object.freeze([])

/** Parses tags from JSON. The empty string stands for no tags. */
export function tagsOf(json: string): readonly string[] {
  return json === '' ? noTags : (JSON.parse(json) as string[])
}
