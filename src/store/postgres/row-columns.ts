import type { TimerRow } from '../../timer/index.js'
import type { Page } from '../store.js'
import { listOf, numberOf } from './answer-row.js'
import { ElementList, int8s } from './binary-array.js'
import type { Row } from './driver.js'
import { rowColumns } from './schema-owner.js'

export const rowColumnNames = rowColumns.map(([name]) => name)

/** Rows as the database gives them, a list for each column; a row is made when it is asked for. */
export class RowColumns implements Page {
  readonly size: number
  readonly bytes: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly dueAts: Float64Array
  readonly #columns: Row
  #rest: Rest | undefined

  constructor(columns: Row) {
    this.#columns = columns
    this.positions = int8s(listOf(columns, 'positions'))
    this.revisions = int8s(listOf(columns, 'revisions'))
    this.dueAts = int8s(listOf(columns, 'due_ats'))
    this.size = this.positions.length
    this.bytes = numberOf(columns, 'bytes')
  }

  row(index: number): TimerRow {
    const rest = (this.#rest ??= restOf(this.#columns))
    return {
      namespace: rest.namespaces.text(index),
      kind: rest.kinds.text(index),
      key: rest.keys.text(index),
      identity: rest.identities[index]!,
      createdAt: rest.createdAts[index]!,
      payload: rest.payloads.bytes(index),
      tags: tagsOf(rest.tags.text(index)),
      details: rest.details.text(index),
      dueAt: this.dueAts[index]!,
      attempt: rest.attempts[index]!,
      occurrence: rest.occurrences[index]!,
      position: this.positions[index]!,
      revision: this.revisions[index]!,
    }
  }

  rows(): TimerRow[] {
    return Array.from({ length: this.size }, (_, index) => this.row(index))
  }
}

interface Rest {
  readonly identities: Float64Array
  readonly createdAts: Float64Array
  readonly attempts: Float64Array
  readonly occurrences: Float64Array
  readonly namespaces: ElementList
  readonly kinds: ElementList
  readonly keys: ElementList
  readonly tags: ElementList
  readonly details: ElementList
  readonly payloads: ElementList
}

function restOf(columns: Row): Rest {
  return {
    identities: int8s(listOf(columns, 'identities')),
    createdAts: int8s(listOf(columns, 'created_ats')),
    attempts: int8s(listOf(columns, 'attempts')),
    occurrences: int8s(listOf(columns, 'occurrences')),
    namespaces: new ElementList(listOf(columns, 'namespaces')),
    kinds: new ElementList(listOf(columns, 'kinds')),
    keys: new ElementList(listOf(columns, 'keys')),
    tags: new ElementList(listOf(columns, 'tags')),
    details: new ElementList(listOf(columns, 'details')),
    payloads: new ElementList(listOf(columns, 'payloads')),
  }
}

const none: readonly string[] = Object.freeze([])

/** Tags of their JSON; nothing for none. */
export function tagsOf(json: string): readonly string[] {
  return json === '' ? none : (JSON.parse(json) as string[])
}
