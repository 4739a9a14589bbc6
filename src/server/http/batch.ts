import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyRequest } from 'fastify'
import type { Turns } from '../../async/index.js'
import { CarillonError, InvalidInputError, LimitError, PartialError } from '../../error/index.js'
import type { CallOptions, SetManyRow, SetTimer, TimerChange, Timers, When } from '../../front/index.js'
import { parseHandle } from '../../timer/index.js'
import { MAX_USELESS_SCHEDULES, SCHEDULES_PER_TURN } from '../defaults.js'
import { isRefusal } from './refusal.js'
import { type BatchAnswer, BatchRow } from './schema/schema.js'
import { mismatchText } from './schema/mismatch-text.js'
import {
  type NamedKinds,
  noCondition,
  setOptionsOf,
  withIdempotencyKey,
  withTraceparent,
} from './set-input.js'

const checker = TypeCompiler.Compile(BatchRow)

type Verb = 'set' | 'move' | 'cancel'

/**
 * Runs the rows of a batch and returns one answer per row; a failing row does not affect the others. Neighbouring rows
 * with the same verb run together, and the next group waits for them. So two rows with different verbs keep their order.
 *
 * Proven by test/server/batch.test.ts and test/server/hostile-batches.test.ts.
 */
export class Batch {
  readonly #timers: Timers
  readonly #kinds: NamedKinds
  readonly #request: FastifyRequest
  readonly #limits: CallOptions
  readonly #setKey: string | undefined
  readonly #turns: Turns
  #uselessSchedules = 0

  /** Rows with schedules cost most. `turns` lets all batches of the server check a few of them in a turn. */
  constructor(
    timers: Timers,
    kinds: NamedKinds,
    turns: Turns,
    request: FastifyRequest,
    limits: CallOptions,
    setKey: string | undefined,
  ) {
    this.#setKey = setKey
    this.#timers = timers
    this.#kinds = kinds
    this.#turns = turns
    this.#request = request
    this.#limits = limits
  }

  async run(rows: readonly unknown[]): Promise<BatchAnswer[]> {
    const answers = new Array<BatchAnswer>(rows.length)
    const checked: BatchRow[] = []
    let indexes: number[] = []
    let verb: Verb = 'set'
    for (const [index, row] of rows.entries()) {
      if (!checker.Check(row)) {
        answers[index] = refusedRow(row)
        continue
      }
      const wanted = row.do ?? 'set'
      if (wanted === 'set' && (row.kind === undefined || row.handle !== undefined)) {
        answers[index] = {
          outcome: 'refused',
          code: 'invalid-body',
          detail: 'a set needs a kind, and no handle',
        }
        continue
      }
      if (wanted !== verb && indexes.length > 0) {
        await this.#runGroup(verb, checked, indexes, answers)
        indexes = []
      }
      verb = wanted
      checked[index] = row
      indexes.push(index)
    }
    if (indexes.length > 0) await this.#runGroup(verb, checked, indexes, answers)
    return answers
  }

  async #runGroup(
    verb: Verb,
    rows: readonly BatchRow[],
    indexes: readonly number[],
    answers: BatchAnswer[],
  ): Promise<void> {
    if (verb === 'set') {
      await Promise.all(
        [...byKind(rows, indexes)].map(([kind, of]) => this.#setInTurns(kind, rows, of, answers)),
      )
      return
    }
    await this.#changeAll(verb, rows, indexes, answers)
  }

  /** Sets all rows of a kind. Rows with schedules are set a few in a turn, in order, so that others get turns, too. */
  async #setInTurns(
    kind: string,
    rows: readonly BatchRow[],
    indexes: readonly number[],
    answers: BatchAnswer[],
  ): Promise<void> {
    const hasSchedules = indexes.some((index) => rows[index]!.on !== undefined)
    const most = hasSchedules ? SCHEDULES_PER_TURN : indexes.length
    const calls: Promise<void>[] = []
    for (let at = 0; at < indexes.length; at += most) {
      if (at > 0) await this.#turns.next()
      calls.push(this.#setAll(kind, rows, indexes.slice(at, at + most), answers))
    }
    await Promise.all(calls)
  }

  /** Sets all rows of a kind in one call. If one of them is refused, sets them one by one. */
  async #setAll(
    kind: string,
    rows: readonly BatchRow[],
    indexes: readonly number[],
    answers: BatchAnswer[],
  ): Promise<void> {
    const options: SetManyRow<unknown>[] = []
    const valid: number[] = []
    for (const index of indexes) {
      try {
        const row = withTraceparent(this.#rowOptions(rows[index]!), this.#request)
        // A row is recognised by its place in the batch: two equal rows without a key are two timers.
        const setKey = this.#setKey === undefined ? undefined : `${this.#setKey}.${index}`
        options.push(withIdempotencyKey(row, setKey, this.#request))
        valid.push(index)
      } catch (error) {
        answers[index] = failedRow(rows[index]!, error)
      }
    }
    try {
      const set = await this.#timers.setMany(this.#kinds.of(kind), options, this.#limits)
      for (const [at, index] of valid.entries()) answers[index] = setRow(kind, set.at(at)!)
    } catch (error) {
      if (error instanceof PartialError) {
        for (const [at, index] of valid.entries()) answers[index] = partialRow(kind, error, at)
      } else if (isRefusal(error) && valid.length > 1) {
        // setMany checks all rows before it stores the first, so nothing is stored yet.
        for (const index of valid) await this.#setAll(kind, rows, [index], answers)
      } else {
        for (const index of valid) answers[index] = failedRow(rows[index]!, error)
      }
    }
  }

  /** A schedule that never matches costs most of all, so a batch may have only some of them. */
  #rowOptions(row: BatchRow): SetManyRow<unknown> {
    const { kind: _kind, do: _do, ...body } = row
    if (row.on !== undefined && this.#uselessSchedules >= MAX_USELESS_SCHEDULES) {
      throw new LimitError(
        'schedule-budget',
        `${MAX_USELESS_SCHEDULES} schedules of this batch never match, so this row was not looked at: correct them first`,
      )
    }
    try {
      return setOptionsOf(body, noCondition)
    } catch (error) {
      if (error instanceof CarillonError && error.code === 'never-matches') this.#uselessSchedules++
      throw error
    }
  }

  /** Moves or cancels the timers of all rows in one call. */
  async #changeAll(
    verb: 'move' | 'cancel',
    rows: readonly BatchRow[],
    indexes: readonly number[],
    answers: BatchAnswer[],
  ): Promise<void> {
    const changes: TimerChange[] = []
    const valid: number[] = []
    for (const index of indexes) {
      try {
        changes.push(changeOf(verb, rows[index]!))
        valid.push(index)
      } catch (error) {
        answers[index] = failedRow(rows[index]!, error)
      }
    }
    const results = await this.#timers.changeEach(changes, this.#limits)
    for (const [at, index] of valid.entries()) {
      const { outcome, error } = results[at]!
      answers[index] =
        error === undefined ? { outcome, ...nameOf(rows[index]!) } : failedRow(rows[index]!, error)
    }
  }
}

/** The change that a row asks for. */
function changeOf(verb: 'move' | 'cancel', row: BatchRow): TimerChange {
  const { kind, key, handle, ifRevision } = row
  const how = {
    ...(verb === 'move' && { moveTo: whenOf(row) }),
    ...(ifRevision !== undefined && { ifRevision }),
  }
  if (handle !== undefined && kind === undefined && key === undefined) return { handle, ...how }
  if (handle !== undefined || kind === undefined)
    throw new InvalidInputError('invalid-key', `${verb} needs kind and key, or a handle`)
  if (key === undefined) throw new InvalidInputError('invalid-key', `missing key: ${verb} needs one`)
  return { kind, key, ...how }
}

/** The name of the timer that a row has changed. */
function nameOf({ kind, key, handle }: BatchRow): { readonly kind: string; readonly key: string } {
  if (handle === undefined) return { kind: kind!, key: key! }
  const name = parseHandle(handle)
  return { kind: name.kind, key: name.key }
}

function byKind(rows: readonly BatchRow[], indexes: readonly number[]): Map<string, number[]> {
  const kinds = new Map<string, number[]>()
  for (const index of indexes) {
    const kind = rows[index]!.kind!
    const of = kinds.get(kind)
    if (of === undefined) kinds.set(kind, [index])
    else of.push(index)
  }
  return kinds
}

function whenOf({ in: delay, at }: BatchRow): When {
  return { ...(delay !== undefined && { in: delay }), ...(at !== undefined && { at }) } as When
}

function setRow(kind: string, { outcome, key, handle, dueAt, revision }: SetTimer): BatchAnswer {
  return { outcome, kind, key, handle, dueAt, ...(revision !== undefined && { revision }) }
}

function partialRow(kind: string, error: PartialError, at: number): BatchAnswer {
  const row = error.rows[at]
  if (row === undefined)
    return { outcome: 'failed', kind, code: error.code, detail: 'this row was not tried' }
  if (row.error !== undefined) {
    return { outcome: 'failed', kind, key: row.key, code: row.error.code, detail: row.error.message }
  }
  return setRow(kind, row.answer as SetTimer)
}

function failedRow({ kind, key }: BatchRow, error: unknown): BatchAnswer {
  const named = { ...(kind !== undefined && { kind }), ...(key !== undefined && { key }) }
  if (!(error instanceof CarillonError)) throw error
  const outcome = isRefusal(error) ? 'refused' : 'failed'
  return { outcome, ...named, code: error.code, detail: error.message }
}

function refusedRow(row: unknown): BatchAnswer {
  return { outcome: 'refused', code: 'invalid-body', detail: mismatchText(checker.Errors(row), 'the row') }
}
