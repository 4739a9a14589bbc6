import {
  nameKey,
  type Place,
  type TimerName,
  type TimerProgress,
  type TimerRow,
} from '../../../timer/index.js'
import type { DeadAnswer, NewDeadLetter, SettleAnswer, Settlement } from '../../store.js'
import { arrayOf, numberOf } from './answer-row.js'
import { int8Array, int8Values, textArray } from './binary-array.js'
import type { Row } from '../net/driver.js'
import { historyParameters, placeOf } from './write-batch.js'

interface Numbered<Item> {
  readonly item: Item
  readonly index: number
}

/**
 * Encodes a settlement for `S.settle`, and decodes its answer.
 *
 * Proven by test/store/postgres/contract.test.ts.
 */
export class SettlementBatch {
  readonly #settlement: Settlement
  readonly #done: readonly Numbered<TimerRow>[]
  readonly #dead: readonly Numbered<NewDeadLetter>[]
  readonly #followUps: readonly Numbered<Settlement['followUps'][number]>[]

  constructor(settlement: Settlement) {
    this.#settlement = settlement
    // A version of a row can be settled once. A second item for it has no effect.
    const seen = new Set<string>()
    const isFirst = (row: TimerName & Place): boolean => {
      const version = `${nameKey(row)}\0${row.revision}`
      return !seen.has(version) && seen.add(version) !== undefined
    }
    this.#done = numbered(settlement.done).filter(({ item }) => isFirst(item))
    this.#dead = numbered(settlement.dead).filter(({ item }) => isFirst(item.row))
    this.#followUps = numbered(settlement.followUps).filter(({ item }) => isFirst(item.row))
  }

  /** The parameters from `p_id` on. */
  parameters(): unknown[] {
    const { id, level, settledCount, history } = this.#settlement
    const dead = this.#dead.map(({ item }) => item)
    const followUps = this.#followUps.map(({ item }) => item)
    return [
      id,
      level.position,
      level.revision,
      settledCount,
      ...placesOf(this.#done.map(({ item }) => item)),
      ...placesOf(dead.map(({ row }) => row)),
      int8Array(dead, (letter) => letter.diedAt),
      textArray(dead, (letter) => letter.reason),
      ...nextOf(dead),
      ...placesOf(followUps.map(({ row }) => row)),
      int8Array(followUps, (followUp) => followUp.position),
      int8Array(followUps, (followUp) => followUp.dueAt),
      int8Array(followUps, (followUp) => followUp.attempt),
      int8Array(followUps, (followUp) => followUp.occurrence),
      textArray(followUps, (followUp) => followUp.details),
      ...historyParameters(history),
    ]
  }

  answer(row: Row): SettleAnswer {
    const base = numberOf(row, 'base')
    const dead = this.#settlement.dead.map((): DeadAnswer => ({ kept: false, next: undefined }))
    for (const number of int8Values(arrayOf(row, 'dead_letters'))) {
      const { item, index } = this.#dead[number - 1]!
      const next = item.next && rewritten(item.row, item.next, base + number)
      dead[index] = { kept: true, next }
    }
    const followUps = new Array<TimerRow | undefined>(this.#settlement.followUps.length).fill(undefined)
    const followUpBase = base + this.#dead.length
    for (const number of int8Values(arrayOf(row, 'followed'))) {
      const { item, index } = this.#followUps[number - 1]!
      followUps[index] = rewritten(item.row, item, followUpBase + number)
    }
    return { followUps, dead, readLevel: placeOf(row, 'read') }
  }
}

/** The row after its follow-up was written. */
function rewritten(
  row: TimerRow,
  next: TimerProgress & { readonly position: number; readonly details?: string },
  revision: number,
): TimerRow {
  const { namespace, kind, key, identity, createdAt, payload, tags } = row
  const { dueAt, attempt, occurrence, position, details = row.details } = next
  const content = { namespace, kind, key, identity, createdAt, payload, tags, details }
  return { ...content, dueAt, attempt, occurrence, position, revision }
}

function placesOf(rows: readonly (TimerName & Place)[]): (Buffer | null)[] {
  if (rows.length === 0) return [null, null, null, null, null]
  return [
    textArray(rows, (row) => row.namespace),
    textArray(rows, (row) => row.kind),
    textArray(rows, (row) => row.key),
    int8Array(rows, (row) => row.position),
    int8Array(rows, (row) => row.revision),
  ]
}

/** The next occurrences of dead rows, if any has one. */
function nextOf(dead: readonly NewDeadLetter[]): (Buffer | null)[] {
  if (dead.every(({ next }) => next === undefined)) return [null, null, null, null, null]
  return [
    int8Array(dead, ({ next }) => next?.position),
    int8Array(dead, ({ next }) => next?.dueAt),
    int8Array(dead, ({ next }) => next?.attempt),
    int8Array(dead, ({ next }) => next?.occurrence),
    textArray(dead, ({ next }) => next?.details),
  ]
}

function numbered<Item>(items: readonly Item[]): Numbered<Item>[] {
  return items.map((item, index) => ({ item, index }))
}
