import type { CallLimit } from '../async/index.js'
import type {
  Handle,
  HandleInTransaction,
  HandleMany,
  LeasedFiring,
  TargetForm,
  TargetView,
} from '../delivery/index.js'
import { checkFunction, checkOptions, InvalidInputError, shown } from '../error/index.js'
import type { Listed } from '../store/index.js'
import type { Duration } from '../time/index.js'
import { keyOfSet } from '../timer/index.js'
import type {
  DeadView,
  QuotaLimits,
  QuotaView,
  SetTimer,
  SetTimers,
  TimerHandle,
  TimerView,
} from '../timer/index.js'
import { type CallOptions, callOptionsOf } from './call/calls.js'
import { HANDLER_THREADS } from './defaults.js'
import type { CancelOutcome, ChangeOptions, MoveOutcome } from './change/changes.js'
import type { ManyOptions, ManyOutcome } from './change/many-changes.js'
import type { Redriven } from './change/redrives.js'
import type { Many, WhichDead } from './change/selection.js'
import { type Paused, type PauseOptions, pauseOptionNames } from './change/pauses.js'
import type { PauseOutcome, ResumeOutcome } from './change/timer-pauses.js'
import type {
  AckOptions,
  AckOutcome,
  ExtendOutcome,
  LeaseRequestOptions,
  ReleaseOptions,
  ReleaseOutcome,
} from './deliver/leases.js'
import {
  type AnyKind,
  checkKindMade,
  type StoredPayload,
  type TimerKind,
  type UnknownKind,
} from './kind/kind.js'
import { Lifecycle } from './call/lifecycle.js'
import type { TimerEvent } from './read/history-policy.js'
import type { ForecastOptions, ForecastSlice, Why } from './read/records.js'
import type { CountOptions, ListOptions, PageOptions } from './read/timer-lists.js'
import type { CountedTimers, ListedTimers, TimerQuery } from './read/timer-query.js'
import type { SetManyRow, SetOptions } from './set/set-request.js'
import type { Instant, When } from './when.js'

const unconditional: ChangeOptions = Object.freeze({})

/**
 * The calls that both front doors have: `Timers` works on a store, `RemoteTimers` on a server. What only a store can do
 * is in `Timers`.
 * The public methods document each call. Overloads are implemented here. The front doors implement
 * the abstract methods; the protected ones have no overloads. Proven by test/front/verbs.test.ts and
 * test/client/remote-timers.test.ts.
 */
export abstract class FrontDoor extends Lifecycle {
  // ---- life cycle

  /** Reads what the store or server knows. `openTimers` calls it. */
  abstract open(): Promise<void>

  /**
   * The timers of another namespace on the same store. This instance fires them, starts and stops them together with
   * its own, and passes their events to its own listeners. A second call returns the same object.
   */
  abstract within(namespace: string): Promise<FrontDoor>

  // ---- handlers

  /**
   * Registers the function that gets the firings of a kind, one by one. With `transaction: true`, one transaction
   * commits both what the function writes by `firing.transaction` and the end of the firing.
   *
   * With the URL of a module, its default export is the function, and it runs on `threads` of its own (1 to 1,024,
   * default 1). So handlers that compute for long delay no other timer. Resolves once every thread has loaded it.
   */
  handle<Payload>(
    kind: TimerKind<Payload, never>,
    handle: HandleInTransaction<Payload>,
    options: { readonly transaction: true },
  ): void
  handle<Payload>(
    kind: TimerKind<Payload, never>,
    handle: Handle<Payload>,
    options?: { readonly transaction?: false },
  ): void
  handle(kind: UnknownKind, module: URL, options?: { readonly threads?: number }): Promise<void>
  handle<Payload>(
    kind: TimerKind<Payload, never>,
    handle: Handle<Payload> | HandleInTransaction<Payload> | URL,
    options: { readonly transaction?: boolean; readonly threads?: number } = {},
  ): void | Promise<void> {
    if (handle instanceof URL) return this.#handleOnThreads(kind, handle, options)
    checkKindMade(kind)
    checkFunction('handle', handle)
    checkOptions('handle', options, ['transaction', 'threads'])
    const { transaction = false, threads } = options
    if (threads !== undefined)
      throw new InvalidInputError(
        'invalid-option',
        "a function cannot cross to a thread: pass the URL of its module, new URL('./module.js', import.meta.url)",
      )
    if (typeof transaction !== 'boolean')
      throw new InvalidInputError(
        'invalid-option',
        `transaction must be true or false, got ${shown(transaction)}`,
      )
    this.handleOne(kind, handle as Handle<unknown>, transaction)
  }

  async #handleOnThreads(
    kind: UnknownKind,
    module: URL,
    options: { readonly transaction?: boolean; readonly threads?: number },
  ): Promise<void> {
    checkKindMade(kind)
    this.checkOpen()
    checkOptions('handle', options, ['transaction', 'threads'])
    const { transaction = false, threads = HANDLER_THREADS } = options
    if (transaction)
      throw new InvalidInputError(
        'invalid-option',
        'a transaction cannot cross to a thread: pass a function, or omit transaction',
      )
    await this.handleModule(kind, module, threads)
  }

  /** Registers the function that gets the firings of a kind in batches: the fast way. */
  abstract handleMany<Payload>(kind: TimerKind<Payload, never>, handle: HandleMany<Payload>): void

  // ---- targets in the store

  /**
   * Stores a target for a kind. Every instance without its own handler for the kind sends the timers there: this one
   * at once, others within about two seconds. A guard keeps a stored webhook on the public internet, unless `guard`
   * says otherwise. A webhook without a `secret` keeps its previous one.
   */
  abstract setTarget(kind: AnyKind, target: TargetForm, options?: CallOptions): Promise<TargetView>

  /** The stored target of a kind, without its secrets; undefined when there is none. */
  abstract getTarget(kind: AnyKind, options?: CallOptions): Promise<TargetView | undefined>

  /** All stored targets, sorted by kind, without their secrets. */
  abstract listTargets(options?: CallOptions): Promise<readonly TargetView[]>

  /** Removes the stored target of a kind. Its timers wait, unless they have a handler. */
  abstract removeTarget(kind: AnyKind, options?: CallOptions): Promise<'removed' | 'unknown'>

  // ---- workers

  /**
   * Leases due firings of kinds that have the target `lease`. The worker answers for each by its receipt. In the
   * library only firings from this instance's shards are leased; servers lease for each other. With `wait`, the call waits for the first firing, and returns an empty
   * array when the time is over.
   */
  lease<Kind extends UnknownKind>(
    kinds: Kind | readonly Kind[],
    options?: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring<StoredPayload<Kind>>[]>
  lease(kinds: AnyKind | readonly AnyKind[], options?: LeaseRequestOptions): Promise<readonly LeasedFiring[]>
  async lease(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions = {},
  ): Promise<readonly LeasedFiring[]> {
    this.checkOpen()
    checkOptions('lease', options, ['max', 'wait', 'duration', 'timeout', 'signal'])
    return await this.leaseFirings(kinds, options)
  }

  /** Ends a leased firing as done; with `again`, it fires once more. */
  abstract ack(receipt: string, options?: AckOptions): Promise<AckOutcome>

  /** Makes the lease end `duration` from now. */
  abstract extend(receipt: string, duration: Duration, options?: CallOptions): Promise<ExtendOutcome>

  /** Reports that the attempt at a leased firing failed. The timer is retried, or becomes a dead letter. */
  abstract release(receipt: string, options?: ReleaseOptions): Promise<ReleaseOutcome>

  // ---- timers

  /** Sets a timer. It replaces the timer with the same key. Without a key, it gets a new one. */
  set<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    key: string,
    options: SetOptions<NoInfer<Input>>,
    limits?: CallOptions,
  ): Promise<SetTimer>
  set<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    options: SetOptions<NoInfer<Input>>,
    limits?: CallOptions,
  ): Promise<SetTimer>
  async set(
    kind: UnknownKind,
    keyOrOptions: string | SetOptions<unknown>,
    optionsOrLimits?: SetOptions<unknown> | CallOptions,
    limits?: CallOptions,
  ): Promise<SetTimer> {
    if (isOptions(keyOrOptions)) {
      const key = keyOfSet(kind, keyOrOptions, keyOrOptions)
      return await this.setTimer(kind, key, keyOrOptions, optionsOrLimits as CallOptions | undefined)
    }
    const key = keyOfSet(kind, keyOrOptions, optionsOrLimits)
    return await this.setTimer(kind, key, optionsOrLimits as SetOptions<unknown>, limits)
  }

  /** Sets many timers of one kind in one call. The results have the order of the rows. */
  abstract setMany<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    rows: readonly SetManyRow<NoInfer<Input>>[],
    limits?: CallOptions,
  ): Promise<SetTimers>

  /** Changes the due time of a timer and keeps its payload. Names the timer by kind and key, or by handle. */
  move(kind: AnyKind, key: string, when: When, options?: CallOptions): Promise<MoveOutcome>
  move(kind: AnyKind, key: string, when: When, options: ChangeOptions): Promise<MoveOutcome | 'conflict'>
  move(handle: TimerHandle, when: When, options?: CallOptions): Promise<MoveOutcome>
  move(
    kindOrHandle: AnyKind,
    keyOrWhen: string | When,
    whenOrOptions?: When | CallOptions,
    options: ChangeOptions = unconditional,
  ): Promise<MoveOutcome | 'conflict'> {
    const isByKey = typeof keyOrWhen === 'string'
    const key = isByKey ? keyOrWhen : undefined
    const when = isByKey ? (whenOrOptions as When | undefined) : keyOrWhen
    const given = isByKey ? options : ((whenOrOptions ?? unconditional) as CallOptions)
    return this.calls.run(callOptionsOf(given), (limit) =>
      this.moveTimer(kindOrHandle, key, when, given, limit),
    )
  }

  /** Fires a timer now, whatever its due time. Names it by kind and key, or by handle. */
  fireNow(kind: AnyKind, key: string, options?: CallOptions): Promise<MoveOutcome>
  fireNow(kind: AnyKind, key: string, options: ChangeOptions): Promise<MoveOutcome | 'conflict'>
  fireNow(handle: TimerHandle, options?: CallOptions): Promise<MoveOutcome>
  fireNow(
    kindOrHandle: AnyKind,
    keyOrOptions?: string | CallOptions,
    options?: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'> {
    const [key, given] = keyAndOptions(keyOrOptions, options)
    return this.calls.run(callOptionsOf(given), (limit) => this.fireTimerNow(kindOrHandle, key, given, limit))
  }

  /** Cancels a timer. Names it by kind and key, or by handle. The outcome says whether it had fired already. */
  cancel(kind: AnyKind, key: string, options?: CallOptions): Promise<CancelOutcome>
  cancel(kind: AnyKind, key: string, options: ChangeOptions): Promise<CancelOutcome | 'conflict'>
  cancel(handle: TimerHandle, options?: CallOptions): Promise<CancelOutcome>
  cancel(
    kindOrHandle: AnyKind,
    keyOrOptions?: string | CallOptions,
    options?: ChangeOptions,
  ): Promise<CancelOutcome | 'conflict'> {
    const [key, given] = keyAndOptions(keyOrOptions, options)
    return this.calls.run(callOptionsOf(given), (limit) => this.cancelTimer(kindOrHandle, key, given, limit))
  }

  /** Moves the timers with these keys, or all timers that match a query. */
  abstract moveMany(many: Many, when: When, options?: ManyOptions): Promise<ManyOutcome<MoveOutcome>>

  /** Cancels the timers with these keys, or all timers that match a query. */
  abstract cancelMany(many: Many, options?: ManyOptions): Promise<ManyOutcome<CancelOutcome>>

  /** Reads a timer; undefined when there is none. Names it by kind and key, or by handle. */
  get<Kind extends UnknownKind>(
    kind: Kind,
    key: string,
    options?: CallOptions,
  ): Promise<TimerView<StoredPayload<Kind>> | undefined>
  get(kind: string, key: string, options?: CallOptions): Promise<TimerView | undefined>
  get(handle: TimerHandle, options?: CallOptions): Promise<TimerView | undefined>
  get(
    kindOrHandle: AnyKind,
    keyOrOptions?: string | CallOptions,
    options?: CallOptions,
  ): Promise<TimerView | undefined> {
    const [key, given] = keyAndOptions(keyOrOptions, options)
    return this.calls.run(given, (limit) => this.getTimer(kindOrHandle, key, limit))
  }

  // ---- reading

  /** One page of the timers that match a query. */
  abstract list(query?: TimerQuery & ListOptions, options?: CallOptions): Promise<ListedTimers>

  /** How many timers match a query. Counts up to a bound, and ends within the budget of a page. */
  abstract count(query?: TimerQuery & CountOptions, options?: CallOptions): Promise<CountedTimers>

  /** Counts the timers that are due in each slice of a span of time. */
  abstract forecast(query?: ForecastOptions, options?: CallOptions): Promise<readonly ForecastSlice[]>

  /** What happened to timers, oldest first, as far as the history keeps it. */
  abstract history(
    query?: { kind?: AnyKind; key?: string; from?: Instant; until?: Instant } & PageOptions,
    options?: CallOptions,
  ): Promise<Listed<TimerEvent>>

  /** All that is known about a key: the timer, its history and its dead letters, also as sentences. */
  abstract why(kind: AnyKind, key: string, options?: CallOptions): Promise<Why>

  /** One page of the dead letters: timers whose last attempt failed. */
  abstract dead(
    query?: { kind?: AnyKind; key?: string } & PageOptions,
    options?: CallOptions,
  ): Promise<Listed<DeadView>>

  /**
   * Sets dead letters again, due now: those with these ids, or all that match a query. It never replaces a timer. If a
   * letter's key has a timer, the letter gets a new key, and the result lists it under `beside`.
   */
  abstract redrive(which: WhichDead, options?: CallOptions): Promise<Redriven>

  /** Deletes dead letters for good: those with these ids, or all that match a query. Answers how many it deleted. */
  abstract discard(which: WhichDead, options?: CallOptions): Promise<number>

  /** The names of the kinds that were set or handled in this namespace. */
  abstract kinds(options?: CallOptions): Promise<readonly string[]>

  // ---- quotas

  /**
   * Limits what this namespace may hold, in every instance. Others apply it within about two seconds. A `set` above the
   * limit fails with 'quota-exceeded'; existing timers stay. `undefined` removes the quota.
   */
  abstract setQuota(limits: QuotaLimits | undefined, options?: CallOptions): Promise<void>

  /** The quota and its use, from a count that is at most a moment old; an empty object when there is no quota. */
  abstract getQuota(options?: CallOptions): Promise<QuotaView>

  // ---- pausing

  /**
   * Pauses the whole namespace, a kind, or a timer. Due times stay: timers that become due wait, and fire when they
   * are resumed. Other instances apply it within about two seconds. A paused timer that is set, moved or fired is no
   * longer paused.
   */
  pause(kind?: AnyKind, key?: undefined, options?: PauseOptions): Promise<'paused'>
  pause(kind: AnyKind, key: string, options?: PauseOptions): Promise<PauseOutcome>
  async pause(kind?: AnyKind, key?: string, options: PauseOptions = {}): Promise<PauseOutcome> {
    checkOptions('pause', options, pauseOptionNames)
    const limits = callOptionsOf(options)
    if (kind !== undefined && key !== undefined)
      return await this.calls.run(limits, (limit) => this.pauseTimer(kind, key, options, limit))
    await this.calls.run(limits, (limit) => this.putPause(kind, options, limit))
    return 'paused'
  }

  /** Ends a pause. A timer that was not paused stays as it is, with the same outcome. */
  resume(kind?: AnyKind, key?: undefined, options?: CallOptions): Promise<'resumed'>
  resume(kind: AnyKind, key: string, options?: CallOptions): Promise<ResumeOutcome>
  async resume(kind?: AnyKind, key?: string, options?: CallOptions): Promise<ResumeOutcome> {
    if (kind !== undefined && key !== undefined)
      return await this.calls.run(options, (limit) => this.resumeTimer(kind, key, limit))
    await this.calls.run(options, (limit) => this.putPause(kind, undefined, limit))
    return 'resumed'
  }

  /** What is paused: kinds, or the whole namespace, and why. `get` shows whether a timer is. */
  abstract paused(options?: CallOptions): Promise<Paused>

  // ---- for the front doors

  protected abstract handleOne(kind: UnknownKind, handle: Handle<unknown>, isTransactional: boolean): void
  /** Registers the default export of a module, on threads. */
  protected abstract handleModule(kind: UnknownKind, module: URL, threads: number): Promise<void>
  protected abstract leaseFirings(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring[]>
  protected abstract setTimer(
    kind: UnknownKind,
    key: string | undefined,
    options: SetOptions<unknown>,
    limits: CallOptions | undefined,
  ): Promise<SetTimer>
  protected abstract moveTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    when: When | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'>
  protected abstract fireTimerNow(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'>
  protected abstract cancelTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<CancelOutcome | 'conflict'>
  protected abstract getTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    limit: CallLimit,
  ): Promise<TimerView | undefined>
  protected abstract pauseTimer(
    kind: AnyKind,
    key: string,
    options: PauseOptions,
    limit: CallLimit,
  ): Promise<PauseOutcome>
  protected abstract resumeTimer(kind: AnyKind, key: string, limit: CallLimit): Promise<ResumeOutcome>
  /** Pauses a kind, the whole namespace when `kind` is undefined. Without options, it resumes it. */
  protected abstract putPause(
    kind: AnyKind | undefined,
    options: PauseOptions | undefined,
    limit: CallLimit,
  ): Promise<void>
}

/** With a handle, the options follow it directly, because it has no key. */
function keyAndOptions(
  keyOrOptions: string | CallOptions | undefined,
  options: ChangeOptions = unconditional,
): [key: string | undefined, options: ChangeOptions] {
  const isHandle = typeof keyOrOptions === 'object' && keyOrOptions !== null
  return isHandle ? [undefined, keyOrOptions] : [keyOrOptions, options]
}

/** The type of both front doors, without their protected members, so that a plain object can implement it. */
export interface TimersApi extends Omit<FrontDoor, 'within'> {
  within(namespace: string): Promise<TimersApi>
}

/** Whether a timer is set without a key: the options come first. */
function isOptions(keyOrOptions: unknown): keyOrOptions is SetOptions<unknown> {
  return typeof keyOrOptions === 'object' && keyOrOptions !== null
}
