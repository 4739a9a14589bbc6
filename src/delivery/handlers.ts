import {
  decodeDetails,
  type Deliver,
  done,
  encodeDetails,
  type Firing,
  type FiringTransaction,
  type NextOccurrence,
  occurrenceDueAt,
  type Outcome,
  parseRetry,
  retryDelayMs,
  type RetryPolicy,
  type TimerRow,
} from '../timer/index.js'
import { StateError } from '../error/index.js'
import { catchUp, parseSchedule, type Schedule } from '../schedule/index.js'
import type { Clock, Wake } from '../time/index.js'
import { Dead, RetryAfter } from './dead.js'
import { TimerFiring } from './timer-firing.js'
import { TransactionFiring } from './transaction-firing.js'

export type Handle<Payload> = (firing: TimerFiring<Payload>) => unknown
export type HandleMany<Payload> = (firings: readonly TimerFiring<Payload>[]) => unknown

/** How a kind is handled. */
export interface Handler {
  readonly kind: string
  readonly one: Handle<unknown> | undefined
  readonly many: HandleMany<unknown> | undefined
  /** `one` settles its firing by a transaction, together with what it writes. */
  readonly isTransactional?: boolean
  readonly concurrency: number
  /** Attempts started per second; undefined for as many as come. */
  readonly rate: number | undefined
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  /** Checks a payload before it is handed over, and gives it back; undefined when there is nothing to check. */
  readonly check: ((payload: unknown) => Promise<unknown>) | undefined
  /** Workers take the firings, instead of being called. */
  readonly isForWorkers?: boolean
}

/** Told of attempts that failed, for logs. */
export type OnFailure = (firing: TimerFiring, error: unknown, outcome: Outcome) => void

/**
 * Takes firings to the functions that handle them, and turns what these return or throw into outcomes: done,
 * again, the next occurrence, a retry by the kind's policy or the timer's own, or a dead letter.
 */
export class Handlers {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #onFailure: OnFailure
  readonly #byKind = new Map<string, Handler>()
  // Those of targets that are kept in the store. A handler that the program itself has comes before them.
  readonly #stored = new Map<string, Handler>()
  #others: Handler | undefined
  // Those whose handler has not ended by itself.
  readonly #underWay = new Set<TimerFiring>()

  constructor(parts: { clock: Clock; random: () => number; onFailure: OnFailure }) {
    this.#clock = parts.clock
    this.#random = parts.random
    this.#onFailure = parts.onFailure
  }

  add(handler: Handler): void {
    if (this.#byKind.has(handler.kind)) {
      throw new StateError('handler-exists', `the kind ${JSON.stringify(handler.kind)} has a handler already`)
    }
    this.#byKind.set(handler.kind, handler)
  }

  /** What gets the kinds that have no handler of their own. */
  addOthers(handler: Handler): void {
    if (this.#others !== undefined) {
      throw new StateError('handler-exists', 'there is a handler for other kinds already')
    }
    this.#others = handler
  }

  /** The kinds that have a handler of their own, or a target in the store. */
  get kinds(): Iterable<string> {
    return new Set([...this.#byKind.keys(), ...this.#stored.keys()])
  }

  /** Whether there is a handler for all other kinds. */
  get hasOthers(): boolean {
    return this.#others !== undefined
  }

  /** What gets a kind that has no handler of its own here; undefined takes it away. */
  putStored(kind: string, handler: Handler | undefined): void {
    if (handler === undefined) this.#stored.delete(kind)
    else this.#stored.set(kind, handler)
  }

  /** Whether workers get the firings of a kind. */
  isForWorkers(kind: string): boolean {
    return this.#of(kind)?.isForWorkers ?? false
  }

  /** Tells every handler under way to end. */
  abortAll(reason: Error): void {
    for (const given of this.#underWay) TimerFiring.abort(given, reason)
  }

  /** Tells the handler of one firing to end. */
  abort(firing: Firing, reason: Error): void {
    for (const given of this.#underWay)
      if (TimerFiring.firingOf(given) === firing) TimerFiring.abort(given, reason)
  }

  /** Attempts at once; none while a kind has no handler. */
  concurrencyOf(kind: string): number {
    return this.#of(kind)?.concurrency ?? 0
  }

  rateOf(kind: string): number | undefined {
    return this.#of(kind)?.rate
  }

  readonly deliver: Deliver = (firings) => {
    const handler = this.#of(firings[0]!.row.kind)
    if (handler === undefined) throw new Error('a kind without a handler has no lane')
    if (handler.many !== undefined) void this.#deliverMany(handler, handler.many, firings)
    else if (handler.isTransactional === true) {
      for (const firing of firings) void this.#deliverInTransaction(handler, handler.one!, firing)
    } else for (const firing of firings) void this.#deliverOne(handler, handler.one!, firing)
  }

  #of(kind: string): Handler | undefined {
    return this.#byKind.get(kind) ?? this.#stored.get(kind) ?? this.#others
  }

  async #deliverOne(handler: Handler, handle: Handle<unknown>, firing: Firing): Promise<void> {
    const given = new TimerFiring(firing, this.#clock)
    if (this.#isUsedUp(handler, firing)) {
      this.#giveUp(firing)
      return
    }
    const alarm = this.#setAlarm(handler, [given])
    try {
      if (handler.check !== undefined) await checkPayload(handler.check, given)
      const returned = handle(given)
      if (isThenable(returned)) await this.#awaited(returned, [given])
      firing.report(this.#outcomeOf(given))
    } catch (error) {
      this.#fail(handler, given, error)
    } finally {
      alarm?.cancel()
    }
  }

  async #deliverInTransaction(handler: Handler, handle: Handle<unknown>, firing: Firing): Promise<void> {
    if (this.#isUsedUp(handler, firing)) {
      this.#giveUp(firing)
      return
    }
    let transaction: FiringTransaction
    try {
      transaction = await firing.begin!()
    } catch (error) {
      this.#fail(handler, new TimerFiring(firing, this.#clock), error)
      return
    }
    const given = new TransactionFiring(firing, this.#clock, transaction.connection)
    // A handler that goes on after its time finds its transaction gone.
    const alarm = this.#setAlarm(handler, [given], () => transaction.abandon())
    try {
      if (handler.check !== undefined) await checkPayload(handler.check, given)
      const returned = handle(given)
      if (isThenable(returned)) await this.#awaited(returned, [given])
      alarm?.cancel()
      await transaction.commit(this.#outcomeOf(given))
    } catch (error) {
      await transaction.rollback()
      this.#fail(handler, given, error)
    } finally {
      alarm?.cancel()
    }
  }

  async #deliverMany(
    handler: Handler,
    handle: HandleMany<unknown>,
    firings: readonly Firing[],
  ): Promise<void> {
    let given: TimerFiring[] = []
    for (const firing of firings) {
      if (this.#isUsedUp(handler, firing)) this.#giveUp(firing)
      else given.push(new TimerFiring(firing, this.#clock))
    }
    if (handler.check !== undefined) given = await this.#checked(handler, handler.check, given)
    if (given.length === 0) return
    const alarm = this.#setAlarm(handler, given)
    try {
      const returned = handle(given)
      if (isThenable(returned)) await this.#awaited(returned, given)
      for (const each of given) TimerFiring.firingOf(each).report(this.#outcomeOf(each))
    } catch (error) {
      for (const each of given) this.#fail(handler, each, error)
    } finally {
      alarm?.cancel()
    }
  }

  async #awaited(returned: PromiseLike<unknown>, given: readonly TimerFiring[]): Promise<void> {
    for (const each of given) this.#underWay.add(each)
    try {
      await returned
    } finally {
      for (const each of given) this.#underWay.delete(each)
    }
  }

  /** Those whose payload passes; the others have failed. */
  async #checked(
    handler: Handler,
    check: NonNullable<Handler['check']>,
    given: readonly TimerFiring[],
  ): Promise<TimerFiring[]> {
    const passed: TimerFiring[] = []
    for (const each of given) {
      try {
        await checkPayload(check, each)
        passed.push(each)
      } catch (error) {
        this.#fail(handler, each, error)
      }
    }
    return passed
  }

  /** Attempts that nobody knows the outcome of may have used up the policy. */
  #isUsedUp(handler: Handler, firing: Firing): boolean {
    return firing.attempt > 1 && firing.attempt > retryOf(handler, firing.row).attempts
  }

  #setAlarm(handler: Handler, given: readonly TimerFiring[], onTimeout?: () => void): Wake | undefined {
    if (handler.timeoutMs === Infinity) return undefined
    return this.#clock.wakeAfter(handler.timeoutMs, () => {
      const error = new StateError(
        'handler-timeout',
        `the handler of ${handler.kind} took more than ${handler.timeoutMs} ms`,
      )
      onTimeout?.()
      for (const each of given) {
        TimerFiring.abort(each, error)
        this.#fail(handler, each, error)
      }
    })
  }

  #outcomeOf(given: TimerFiring): Outcome {
    const { row } = TimerFiring.firingOf(given)
    const againAt = TimerFiring.againAt(given)
    if (againAt !== undefined) return { type: 'next', dueAt: againAt, ...forgotten(row) }
    const next = nextOf(row, this.#clock)
    return next === undefined ? done : { type: 'next', ...next }
  }

  #fail(handler: Handler, given: TimerFiring, error: unknown): void {
    const firing = TimerFiring.firingOf(given)
    const outcome = this.#failure(handler, firing, error)
    this.#onFailure(given, error, outcome)
    firing.report(outcome)
  }

  #failure(handler: Handler, { row, attempt }: Firing, error: unknown): Outcome {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof Dead) return this.#dead(row, reason)
    const retry = retryOf(handler, row)
    if (attempt >= retry.attempts) {
      return this.#dead(row, `attempt ${attempt} of ${retry.attempts} failed: ${reason}`)
    }
    const delayMs = error instanceof RetryAfter ? error.delayMs : retryDelayMs(retry, attempt, this.#random)
    const dueAt = this.#clock.now() + delayMs
    if (dueAt - occurrenceDueAt(row) > retry.maxDurationMs) {
      return this.#dead(row, `attempt ${attempt} failed and the time for retries is over: ${reason}`)
    }
    return { type: 'retry', dueAt, reason, ...remembered(row) }
  }

  /** Only the occurrence is given up: a recurring timer goes on with its schedule. */
  #dead(row: TimerRow, reason: string): Outcome {
    const next = nextOf(row, this.#clock)
    return { type: 'dead', reason, ...(next && { next }) }
  }

  #giveUp(firing: Firing): void {
    const { row, attempt } = firing
    const reason = `${attempt - 1} attempts were made, the last of them without a known outcome`
    firing.report(this.#dead(row, reason))
  }
}

function retryOf(handler: Handler, row: TimerRow): RetryPolicy {
  const { retry } = decodeDetails(row.details)
  return retry === undefined ? handler.retry : parseRetry(retry)
}

/** What follows an occurrence that was dealt with: the next one of its schedule, or nothing. */
function nextOf(row: TimerRow, clock: Clock): NextOccurrence | undefined {
  if (row.details === '') return undefined
  const { on, offsetMs = 0 } = decodeDetails(row.details)
  if (on === undefined) return undefined
  const dueAt = nextDueAt(parseSchedule(on), row, offsetMs, clock.now())
  return dueAt === undefined ? undefined : { dueAt, ...forgotten(row) }
}

/** The row will be due when it is tried again; when the occurrence was due is kept beside it. */
function remembered(row: TimerRow): { readonly details?: string } {
  const details = decodeDetails(row.details)
  if (details.firstDueAt !== undefined) return {}
  return { details: encodeDetails({ ...details, firstDueAt: row.dueAt }) }
}

function forgotten(row: TimerRow): { readonly details?: string } {
  const { firstDueAt, ...details } = decodeDetails(row.details)
  return firstDueAt === undefined ? {} : { details: encodeDetails(details) }
}

/**
 * The next occurrence after one that was dealt with, by the schedule's rule for missed ones, and as much later as
 * the timer's place in the window is.
 */
function nextDueAt(schedule: Schedule, row: TimerRow, offsetMs: number, now: number): number | undefined {
  const dueAt = occurrenceDueAt(row)
  const instant = dueAt - offsetMs
  // One that was moved has no instant of its own: it goes on after the time it was moved to.
  const isInPlace = offsetMs > 0 && schedule.next(instant - 1) === instant
  // What comes to its place only after now was not missed.
  const shiftMs = isInPlace ? offsetMs : 0
  const { fire, next } = catchUp(schedule, {
    lastOccurrence: dueAt - shiftMs,
    now: Math.max(now, row.dueAt) - shiftMs,
    seed: String(row.identity),
  })
  const following = fire[0] ?? next
  return following === undefined ? undefined : following + offsetMs
}

async function checkPayload(check: NonNullable<Handler['check']>, given: TimerFiring): Promise<void> {
  TimerFiring.setPayload(given, await check(given.payload))
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
