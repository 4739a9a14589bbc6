import {
  decodeDetails,
  type Deliver,
  done,
  encodeDetails,
  ended,
  lastOutcome,
  latestStartOf,
  MISSED,
  UNREADABLE,
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
import { AttemptTimes } from './attempt-times.js'
import { Dead, RetryAfter } from './dead.js'
import { NotStarted } from './not-started.js'
import { TimerFiring } from './timer-firing.js'
import { TransactionFiring } from './transaction-firing.js'

export type Handle<Payload> = (firing: TimerFiring<Payload>) => unknown
export type HandleMany<Payload> = (firings: readonly TimerFiring<Payload>[]) => unknown

/** The handler of a kind and its options. */
export interface Handler {
  readonly kind: string
  readonly one: Handle<unknown> | undefined
  readonly many: HandleMany<unknown> | undefined
  /** `one` settles its firing in a transaction, together with what it writes. */
  readonly isTransactional?: boolean
  readonly concurrency: number
  /** Attempts started per second; undefined for no limit. */
  readonly rate: number | undefined
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  /** Checks a payload before the handler gets it, and returns it; undefined if there is nothing to check. */
  readonly check: ((payload: unknown) => Promise<unknown>) | undefined
  /** This instance cannot use the target of the kind. Other instances may be able to. */
  readonly isRefused?: boolean
  /** Workers lease the firings; no function is called. */
  readonly isForWorkers?: boolean
  /** Called before each attempt. False: it does not start, and waits again. Absent: every attempt starts. */
  readonly mayStart?: () => boolean
}

/** How long the handlers of one delivery may block the event loop before the rest is postponed. */
const MAX_TURN_MS = 10

/** Called for each attempt that failed, for logs. */
export type OnFailure = (firing: TimerFiring, error: unknown, outcome: Outcome) => void

/**
 * Calls the handlers of firings, and turns what they return or throw into outcomes: done, again, the next occurrence, a
 * retry by the policy of the timer or its kind, or a dead letter.
 *
 * Proven by test/engine/blocked-loop.test.ts and test/delivery/webhook.test.ts.
 */
export class Handlers {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #onFailure: OnFailure
  readonly #byKind = new Map<string, Handler>()
  // Handlers of targets in the store. A handler of the program itself takes precedence.
  readonly #stored = new Map<string, Handler>()
  #others: Handler | undefined
  // Firings whose handler has not returned yet.
  readonly #underWay = new Set<TimerFiring>()
  /** How long attempts took. */
  readonly times = new AttemptTimes()

  constructor(parts: { clock: Clock; random: () => number; onFailure: OnFailure }) {
    this.#clock = parts.clock
    this.#random = parts.random
    this.#onFailure = parts.onFailure
  }

  add(handler: Handler): void {
    this.checkFree(handler.kind)
    this.#byKind.set(handler.kind, handler)
  }

  /** Throws if the kind has a handler. */
  checkFree(kind: string): void {
    if (this.#byKind.has(kind))
      throw new StateError('handler-exists', `the kind ${JSON.stringify(kind)} has a handler already`)
  }

  /** Adds the handler for all kinds that have none of their own. */
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

  /** Whether firings of a kind have somewhere to go here. */
  has(kind: string): boolean {
    const handler = this.#of(kind)
    return handler !== undefined && handler.isRefused !== true
  }

  /** Whether the handler of a kind settles each firing in a transaction, which only the owner of its shard can. */
  isTransactional(kind: string): boolean {
    return this.#of(kind)?.isTransactional === true
  }

  /** Sets the handler of a target in the store; undefined removes it. */
  putStored(kind: string, handler: Handler | undefined): void {
    if (handler === undefined) this.#stored.delete(kind)
    else this.#stored.set(kind, handler)
  }

  /** Whether workers lease the firings of a kind. */
  isForWorkers(kind: string): boolean {
    return this.#of(kind)?.isForWorkers ?? false
  }

  /** Aborts every handler under way. */
  abortAll(reason: Error): void {
    for (const given of this.#underWay) TimerFiring.abort(given, reason)
  }

  /** Aborts the handler of one firing. */
  abort(firing: Firing, reason: Error): void {
    for (const given of this.#underWay)
      if (TimerFiring.firingOf(given) === firing) TimerFiring.abort(given, reason)
  }

  /** How many attempts of a kind may run at once; none while it has no handler. */
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
    else this.#deliverEach(handler, handler.one!, firings)
  }

  /** Starts one after the other. Once they have blocked the event loop for too long, the rest is postponed. */
  #deliverEach(handler: Handler, handle: Handle<unknown>, firings: readonly Firing[]): void {
    const until = this.#clock.monotonic() + MAX_TURN_MS
    const { mayStart } = handler
    for (let index = 0; index < firings.length; index++) {
      const firing = firings[index]!
      if (index > 0) {
        const at = this.#clock.monotonic()
        if (at >= until) {
          for (let left = index; left < firings.length; left++) firings[left]!.postpone()
          return
        }
        // The handlers before it may have outlasted the lease.
        if (!firing.start(at)) continue
      }
      if (mayStart !== undefined && !mayStart()) {
        firing.postpone()
        continue
      }
      if (handler.isTransactional === true) void this.#deliverInTransaction(handler, handle, firing)
      else if (handler.check !== undefined || handler.timeoutMs !== Infinity)
        void this.#deliverOne(handler, handle, firing)
      else this.#deliverPlain(handler, handle, firing)
    }
  }

  /** As `#deliverOne`, for a handler without check and timeout. It makes no promise unless the handler returns one. */
  #deliverPlain(handler: Handler, handle: Handle<unknown>, firing: Firing): void {
    if (this.#isGivenUp(handler, firing)) return
    const given = new TimerFiring(firing, this.#clock)
    try {
      const returned = handle(given)
      if (isThenable(returned)) void this.#reportLater(handler, given, returned)
      else firing.report(this.#outcomeOf(given))
    } catch (error) {
      this.#fail(handler, given, error)
    }
  }

  async #reportLater(handler: Handler, given: TimerFiring, returned: PromiseLike<unknown>): Promise<void> {
    const firing = TimerFiring.firingOf(given)
    const began = this.#clock.monotonic()
    this.#underWay.add(given)
    firing.onAbandoned = (reason) => TimerFiring.abort(given, reason)
    try {
      await returned
      this.#waited(given, began)
      firing.report(this.#outcomeOf(given))
    } catch (error) {
      this.#waited(given, began)
      this.#fail(handler, given, error)
    }
  }

  #waited(given: TimerFiring, began: number): void {
    this.#underWay.delete(given)
    this.times.add(given.kind, this.#clock.monotonic() - began, 1)
  }

  #of(kind: string): Handler | undefined {
    return this.#byKind.get(kind) ?? this.#stored.get(kind) ?? this.#others
  }

  async #deliverOne(handler: Handler, handle: Handle<unknown>, firing: Firing): Promise<void> {
    const given = new TimerFiring(firing, this.#clock)
    if (this.#isGivenUp(handler, firing)) return
    const alarm = this.#setAlarm(handler, [given])
    try {
      if (handler.check !== undefined) {
        await checkPayload(handler.check, given)
        if (!firing.start()) return
      }
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
    if (this.#isGivenUp(handler, firing)) return
    let transaction: FiringTransaction
    try {
      transaction = await firing.begin!()
    } catch (error) {
      this.#fail(handler, new TimerFiring(firing, this.#clock), error)
      return
    }
    // The connection may have come too late.
    if (!firing.start() || this.#isGivenUp(handler, firing)) {
      await transaction.rollback()
      return
    }
    const given = new TransactionFiring(firing, this.#clock, transaction.connection)
    // A handler that goes on after its timeout can no longer write in its transaction.
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
      if (!this.#isGivenUp(handler, firing)) given.push(new TimerFiring(firing, this.#clock))
    }
    if (handler.check !== undefined) {
      given = await this.#checked(handler, handler.check, given)
      given = given.filter((each) => TimerFiring.firingOf(each).start())
    }
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
    const began = this.#clock.monotonic()
    for (const each of given) {
      this.#underWay.add(each)
      TimerFiring.firingOf(each).onAbandoned = (reason) => TimerFiring.abort(each, reason)
    }
    try {
      await returned
    } finally {
      for (const each of given) this.#underWay.delete(each)
      this.times.add(given[0]!.kind, this.#clock.monotonic() - began, given.length)
    }
  }

  /** The firings whose payload passes the check. The others have failed. */
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

  /**
   * Settles a firing without a start, if none may follow. Attempts of unknown outcome may have used up those of the
   * policy, or it is later than the latest start.
   */
  #isGivenUp(handler: Handler, firing: Firing): boolean {
    // Most rows have no details, so nothing can be wrong with them.
    if (firing.row.details === '') return this.#isTooLate(handler, firing)
    try {
      return this.#isTooLate(handler, firing)
    } catch (error) {
      this.#giveUpUnreadable(new TimerFiring(firing, this.#clock), error)
      return true
    }
  }

  #isTooLate(handler: Handler, firing: Firing): boolean {
    const { row, attempt } = firing
    const made = attempt - 1
    if (made > 0 && attempt > retryOf(handler, row).attempts) {
      const reason = `no attempts left: ${made} counted, the last with an unknown outcome`
      firing.report(this.#dead(row, reason))
      return true
    }
    const latest = latestStartOf(row)
    if (latest === Infinity || this.#clock.now() <= latest) return false
    const limit = `it may not start after ${new Date(latest).toISOString()}`
    if (made > 0) firing.report(this.#dead(row, `${made} attempts were made, and ${limit}`))
    else firing.report({ ...this.#dead(row, MISSED + limit), isMissed: true })
    return true
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
    if (TimerFiring.isEnded(given)) return ended
    const againAt = TimerFiring.againAt(given)
    if (againAt !== undefined) return { type: 'next', dueAt: againAt, ...forgotten(row) }
    const next = nextOf(row, this.#clock)
    return next === undefined ? done : { type: 'next', ...next }
  }

  #fail(handler: Handler, given: TimerFiring, error: unknown): void {
    if (error instanceof NotStarted) return
    const firing = TimerFiring.firingOf(given)
    let outcome: Outcome
    try {
      outcome = lastOutcome(firing.row, this.#failure(handler, given, error))
    } catch (unreadable) {
      this.#giveUpUnreadable(given, unreadable)
      return
    }
    this.#onFailure(given, error, outcome)
    firing.report(outcome)
  }

  /** No retry could read more of the row, and a schedule that cannot be read has no next occurrence. */
  #giveUpUnreadable(given: TimerFiring, error: unknown): void {
    const reason = UNREADABLE + (error instanceof Error ? error.message : String(error))
    const outcome: Outcome = { type: 'dead', reason, isUnreadable: true }
    this.#onFailure(given, error, outcome)
    TimerFiring.firingOf(given).report(outcome)
  }

  #failure(handler: Handler, given: TimerFiring, error: unknown): Outcome {
    const { row, attempt } = TimerFiring.firingOf(given)
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof Dead) return this.#dead(row, reason)
    const retry = retryOf(handler, row)
    if (attempt >= retry.attempts) {
      return this.#dead(row, `attempt ${attempt} of ${retry.attempts} failed: ${reason}`)
    }
    const now = this.#clock.now()
    const dueAt =
      error instanceof RetryAfter
        ? now + error.delayMs
        : Math.min(now + retryDelayMs(retry, attempt, this.#random), latestRetryAt(retry, row, now))
    if (dueAt - occurrenceDueAt(row) > retry.maxDurationMs) {
      return this.#dead(row, `attempt ${attempt} failed and the time for retries is over: ${reason}`)
    }
    if (dueAt > latestStartOf(row)) {
      return this.#dead(row, `attempt ${attempt} failed and it may not start later: ${reason}`)
    }
    return { type: 'retry', dueAt, reason, ...remembered(row) }
  }

  /** Only this occurrence becomes a dead letter: a recurring timer goes on with its schedule. */
  #dead(row: TimerRow, reason: string): Extract<Outcome, { readonly type: 'dead' }> {
    const next = nextOf(row, this.#clock)
    return { type: 'dead', reason, ...(next && { next }) }
  }
}

function retryOf(handler: Handler, row: TimerRow): RetryPolicy {
  const { retry } = decodeDetails(row.details)
  return retry === undefined ? handler.retry : parseRetry(retry)
}

/** A retry blocks the occurrences after it. So by default it is due no later than the next one, if that is not too soon. */
function latestRetryAt(retry: RetryPolicy, row: TimerRow, now: number): number {
  if (!retry.isCutByNext || row.details === '') return Infinity
  const { on, offsetMs = 0 } = decodeDetails(row.details)
  const instant = on === undefined ? undefined : parseSchedule(on).next(now - offsetMs)
  return instant === undefined ? Infinity : Math.max(instant + offsetMs, now + retry.minMs)
}

/** The next occurrence of the schedule after one that has ended; undefined if there is none. */
function nextOf(row: TimerRow, clock: Clock): NextOccurrence | undefined {
  if (row.details === '') return undefined
  const { on, offsetMs = 0 } = decodeDetails(row.details)
  if (on === undefined) return undefined
  const dueAt = nextDueAt(parseSchedule(on), row, offsetMs, clock.now())
  return dueAt === undefined ? undefined : { dueAt, ...forgotten(row) }
}

/** A retry changes the due time of the row, so the details keep the due time of the occurrence. */
function remembered(row: TimerRow): { readonly details?: string } {
  const details = decodeDetails(row.details)
  if (details.firstDueAt !== undefined) return {}
  return { details: encodeDetails({ ...details, firstDueAt: row.dueAt }) }
}

/** The details without what belongs to this occurrence alone. */
function forgotten(row: TimerRow): { readonly details?: string } {
  const { firstDueAt, redriveOf, ...details } = decodeDetails(row.details)
  return firstDueAt === undefined && redriveOf === undefined ? {} : { details: encodeDetails(details) }
}

/**
 * The due time of the next occurrence, by the schedule's rule for missed ones. It is later than the instant of the
 * schedule by the timer's offset in the firing window.
 */
function nextDueAt(schedule: Schedule, row: TimerRow, offsetMs: number, now: number): number | undefined {
  const dueAt = occurrenceDueAt(row)
  const instant = dueAt - offsetMs
  // A timer that was moved is at no instant of its schedule. It goes on after the time that it was moved to.
  const isInPlace = offsetMs > 0 && schedule.next(instant - 1) === instant
  // An instant whose offset ends after now was not missed.
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
