import assert from 'node:assert/strict'
import type {
  Counts,
  FollowUp,
  NewDeadLetter,
  Operation,
  OperationAnswer,
  InboxRequest,
  SettleAnswer,
  Settlement,
  RowVersion,
} from '../../../store/index.js'
import {
  comparePlaces,
  isBefore,
  nameKey,
  type Place,
  type TimerName,
  type TimerRow,
} from '../../../timer/index.js'
import { answerOf, samePlace } from '../sample.js'
import { plain, rowOf } from '../timer-fields.js'

type Outcome = OperationAnswer['outcome']

/** Counters, dead letters and history that all shards of a model share. */
export interface Ledger {
  readonly counts: { -readonly [Name in keyof Counts]: number }
  readonly dead: NewDeadLetter[]
}

/**
 * A shard in the simplest possible form: a map of rows and an array of requests, sorted and filtered for every
 * question. The store chooses the revisions, so the model takes them from its answers; they must rise.
 */
export class ShardModel {
  readonly rows = new Map<string, TimerRow>()
  /** Timers that were done. Those that were swept since may be forgotten. */
  readonly finished = new Map<string, TimerRow>()
  readonly #swept = new Set<string>()
  readonly requests: InboxRequest[] = []
  readonly answers = new Map<string, { readonly outcome: Outcome; readonly deadline: number }>()
  readonly #ledger: Ledger
  readonly #isOne: boolean
  settledLevel: Place
  readLevel: Place
  lastRevision = 0

  /** `isOne` is false for a model of several shards, because each shard has its own revisions. */
  constructor(ledger: Ledger, level: Place, isOne = true) {
    this.#ledger = ledger
    this.#isOne = isOne
    this.settledLevel = level
    this.readLevel = level
  }

  sorted(): TimerRow[] {
    return [...this.rows.values()].toSorted(comparePlaces)
  }

  find(name: TimerName): TimerRow | undefined {
    return this.rows.get(nameKey(name))
  }

  /** The finished rows before this place were swept. */
  sweep(below: Place): void {
    for (const [name, row] of this.finished) if (isBefore(row, below)) this.#swept.add(name)
  }

  #finish(row: TimerRow): void {
    this.finished.set(nameKey(row), row)
    this.#swept.delete(nameKey(row))
  }

  /** What the store says about a finished timer must agree. Once it may be swept, it may be forgotten. */
  checkSettled(name: TimerName, given: TimerRow | undefined, isReopened: boolean): void {
    const row = this.finished.get(nameKey(name))
    if (row === undefined) {
      // An opened store may find an earlier life of a name whose last life was removed.
      if (!isReopened || this.find(name) !== undefined)
        assert.equal(given, undefined, `${name.key} has not finished`)
      return
    }
    if (given === undefined) {
      assert.ok(this.#swept.has(nameKey(name)), `${name.key} is forgotten`)
      return
    }
    assert.ok(isBefore(given, this.settledLevel), `${name.key} lies above the level`)
    const { position } = row
    const revision = row.revision === Infinity ? given.revision : row.revision
    assert.deepEqual(plain(given), plain({ ...row, position, revision }))
  }

  /** Applies an operation. The store's answer must be the one that the model expects. */
  apply(operation: Operation, answer: OperationAnswer, now: number): void {
    if (operation.request === undefined) {
      this.#change(operation, answer)
      return
    }
    const index = this.requests.findIndex((request) => request.id === operation.request)
    const request = this.requests[index]
    if (request === undefined) {
      answerOf(answer, 'answered-before')
      return
    }
    if (operation.type !== 'set' && request.deadline < now) answerOf(answer, 'expired')
    else this.#change(operation, answer)
    if (answer.outcome === 'below-level') return
    this.requests.splice(index, 1)
    this.answers.set(request.id, { outcome: answer.outcome, deadline: request.deadline })
  }

  settle(settlement: Settlement, answer: SettleAnswer): void {
    const { counts, dead } = this.#ledger
    for (const row of settlement.done) {
      const current = this.#take(row)
      if (current === undefined) continue
      counts.settled++
      const position = settlement.level.position - 1
      // The store has given it a later revision, which nobody is told.
      if (position >= 0) this.#finish({ ...current, position, revision: Infinity })
    }
    for (const [index, letter] of settlement.dead.entries()) {
      const { row, diedAt, reason, next } = letter
      const current = this.#take(row)
      const { kept, next: rewritten } = answer.dead[index]!
      assert.equal(kept, current !== undefined, `the dead letter of ${row.key}`)
      if (next === undefined) assert.equal(rewritten, undefined, `${row.key} goes on unasked`)
      if (current === undefined) {
        assert.equal(rewritten, undefined, `${row.key} goes on though it no longer stood`)
        continue
      }
      dead.push({ row, diedAt, reason })
      if (next === undefined) counts.dead++
      else this.#follow(current, next, rewritten)
    }
    for (const [index, followUp] of settlement.followUps.entries()) {
      const current = this.#take(followUp.row)
      const rewritten = answer.followUps[index]
      if (current === undefined) assert.equal(rewritten, undefined, `the follow-up of ${followUp.row.key}`)
      else this.#follow(current, followUp, rewritten)
    }
    counts.settled += settlement.settledCount
    this.settledLevel = settlement.level
    for (const [name, row] of this.rows) {
      if (!isBefore(row, settlement.level)) continue
      this.rows.delete(name)
      this.#finish(row)
    }
  }

  /** Puts a removed row back with new progress. The store must have written the same row. */
  #follow(row: TimerRow, progress: Omit<FollowUp, 'row'>, rewritten: TimerRow | undefined): void {
    assert.ok(rewritten !== undefined, `${row.key} does not go on`)
    const { dueAt, attempt, occurrence, position, details = row.details } = progress
    this.#put({ ...row, dueAt, attempt, occurrence, details, position, revision: rewritten.revision })
    assert.deepEqual(plain(rewritten), plain(this.find(row)!))
  }

  /** Replaces a row with the one that the store wrote. */
  rewritten(row: TimerRow): void {
    this.rows.set(nameKey(row), row)
  }

  forget(row: TimerRow): void {
    this.rows.delete(nameKey(row))
  }

  outcome(id: string, now: number): Outcome | undefined {
    const answer = this.answers.get(id)
    return answer === undefined || answer.deadline < now ? undefined : answer.outcome
  }

  #change(operation: Operation, answer: OperationAnswer): void {
    if (operation.type === 'answer') {
      answerOf(answer, operation.outcome)
      return
    }
    const row = this.find(operation)
    const { counts } = this.#ledger
    const isLow = operation.type !== 'cancel' && operation.position < this.settledLevel.position
    if (operation.type === 'set') {
      if (row?.identity === operation.identity) {
        assert.deepEqual(answerOf(answer, 'same').current, versionOf(row))
        return
      }
      const isConflict =
        (operation.ifAbsent === true && row !== undefined) ||
        (operation.ifRevision !== undefined && operation.ifRevision !== row?.revision)
      if (isConflict) {
        assert.deepEqual(answerOf(answer, 'conflict').current, row && versionOf(row))
        return
      }
      if (isLow) {
        answerOf(answer, 'below-level')
        return
      }
      const { place, replaced } = answerOf(answer, 'set')
      assert.deepEqual(replaced, row && versionOf(row))
      if (row !== undefined) counts.replaced++
      counts.created++
      this.#put(rowOf(operation, place))
      return
    }
    if (row === undefined || (operation.identity !== undefined && operation.identity !== row.identity)) {
      // Where both reasons apply, a store may answer either.
      if (!isLow || answer.outcome !== 'below-level') answerOf(answer, 'unknown')
      return
    }
    if (operation.ifRevision !== undefined && operation.ifRevision !== row.revision) {
      assert.deepEqual(answerOf(answer, 'conflict').current, versionOf(row))
      return
    }
    if (operation.type === 'cancel') {
      assert.deepEqual(answerOf(answer, 'cancelled').removed, versionOf(row))
      this.rows.delete(nameKey(row))
      counts.cancelled++
      return
    }
    if (isLow) {
      answerOf(answer, 'below-level')
      return
    }
    const moved = answerOf(answer, 'moved')
    samePlace(moved.from, row)
    const { dueAt, position, attempt = row.attempt, details = row.details } = operation
    this.#put({ ...row, dueAt, position, attempt, details, revision: moved.row.revision })
    assert.deepEqual(plain(moved.row), plain(this.find(row)!))
  }

  #put(row: TimerRow): void {
    const last = this.#isOne ? this.lastRevision : (this.find(row)?.revision ?? 0)
    assert.ok(row.revision > last, `revision=${row.revision} last=${last}`)
    this.lastRevision = row.revision
    this.rows.set(nameKey(row), row)
    this.finished.delete(nameKey(row))
  }

  #take(row: TimerRow): TimerRow | undefined {
    const current = this.find(row)
    if (current?.revision !== row.revision) return undefined
    this.rows.delete(nameKey(row))
    return current
  }
}

function versionOf({ identity, position, revision }: TimerRow): RowVersion {
  return { identity, position, revision }
}
