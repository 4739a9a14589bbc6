import {
  Guard,
  type GuardOptions,
  type Handle,
  type HandleInTransaction,
  type HandleMany,
  Handlers,
  LeaseDesk,
  type LeasedFiring,
  type Target,
  type TargetForm,
  type TargetView,
} from '../delivery/index.js'
import type { EngineSettings, EngineStats, Peers, TimerEngine } from '../engine/index.js'
import { checkFunction, StateError } from '../error/index.js'
import type { Counts, KindName, Listed, Store } from '../store/index.js'
import type { Clock, Duration } from '../time/index.js'
import type {
  DeadView,
  QuotaLimits,
  QuotaView,
  SetTimer,
  SetTimers,
  TimerHandle,
  TimerView,
} from '../timer/index.js'
import { Chores } from './chores.js'
import { type Drained, type DrainOptions, Drains } from './drain.js'
import { handlerOf, howToHandle } from './handler-of.js'
import type { HistoryPolicy, TimerEvent } from './history-policy.js'
import { InnerTimers } from './inner-timers.js'
import { type AnyKind, type KindOptions, timer, type TimerKind } from './kind.js'
import { Kinds } from './kinds.js'
import {
  type AckOptions,
  type AckOutcome,
  type ExtendOutcome,
  type LeaseRequestOptions,
  Leases,
  type ReleaseOptions,
  type ReleaseOutcome,
} from './leases.js'
import { Listeners } from './listeners.js'
import { ManyChanges, type ManyOptions, type ManyOutcome } from './many-changes.js'
import { NamespaceQuota } from './namespace-quota.js'
import { outcomeOf } from './outcome.js'
import { Pauses } from './pauses.js'
import {
  type ForecastOptions,
  type ForecastSlice,
  type PageOptions,
  Records,
  type TimerQuery,
  type Why,
} from './records.js'
import { type Redriven, Redrives } from './redrives.js'
import { Requests } from './requests.js'
import { type Many, Selection, type WhichDead } from './selection.js'
import type { SetManyRow, SetOptions } from './set-request.js'
import { Sets, type SetsParts } from './sets.js'
import { SharedEngine } from './shared-engine.js'
import { type StoredTarget, StoredTargets } from './stored-targets.js'
import { type LoggedEvent, type TargetEvent, Targets } from './targets.js'
import { Spread } from './spread.js'
import { TransactionSets } from './transaction-sets.js'
import { type PauseOutcome, type ResumeOutcome, TimerPauses } from './timer-pauses.js'
import type { TimersEvent } from './timers-event.js'
import type { Tracing } from './tracing.js'
import type { Instant, When } from './when.js'

/** An instance, and the store beneath it. */
export interface TimersStats extends EngineStats {
  /** Timers that are set and not settled, in the whole store. */
  readonly pending: number
  /** What became of timers since the store was made. */
  readonly store: Counts
}

export type MoveOutcome = (typeof moveOutcomes)[number]
export type CancelOutcome = (typeof cancelOutcomes)[number]

export interface TimersParts {
  readonly store: Store
  /** Whether to stop the store with the timers. */
  readonly ownsStore: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly namespace: string
  readonly settings: Partial<EngineSettings>
  readonly history: HistoryPolicy
  readonly historyMs: number
  /** Claim every shard before the start, too: for a store that nobody shares. */
  readonly holdsAll: boolean
  /** Over webhooks; undefined for those in the store alone, false for none. */
  readonly guard?: GuardOptions | false | undefined
  /** Undefined where nothing is traced. */
  readonly tracing?: Tracing | undefined
  readonly onEvent: (event: TimersEvent) => void
  readonly peers?: Peers | undefined
  /** The engine of the timers that these were opened within; one of their own without it. */
  readonly within?: SharedEngine
}

/** What a change is only made under. */
export interface ChangeOptions {
  /** Only if the timer stands at this revision: 'conflict' otherwise. */
  readonly ifRevision?: number
}

const moveOutcomes = ['moved', 'firing', 'settled', 'unknown'] as const
const cancelOutcomes = ['cancelled', 'firing', 'settled', 'unknown'] as const

const SHORTEST_PRUNE_MS = 600_000
const LONGEST_PRUNE_MS = 86_400_000

/** The front door: sets, moves, cancels and handles timers on a store. Made by `openTimers`. */
export class Timers implements AsyncDisposable {
  readonly #parts: TimersParts
  readonly #handlers: Handlers
  readonly #engine: TimerEngine
  readonly #kinds: Kinds
  readonly #requests: Requests
  readonly #records: Records
  readonly #selection: Selection
  readonly #setsParts: SetsParts
  readonly #sets: Sets
  readonly #manyChanges: ManyChanges
  readonly #redrives: Redrives
  readonly #pauses: Pauses
  readonly #quota: NamespaceQuota
  readonly #timerPauses: TimerPauses
  readonly #drains: Drains
  readonly #chores: Chores
  readonly #listeners: Listeners
  readonly #targets: Targets
  readonly #storedTargets: StoredTargets
  readonly #shared: SharedEngine
  readonly #inner = new InnerTimers((namespace) => this.#openWithin(namespace))
  readonly #desk: LeaseDesk
  readonly #leases: Leases
  #isStarted = false
  #stopping: Promise<void> | undefined

  constructor(parts: TimersParts) {
    const { store, clock, random, namespace, history } = parts
    const listeners = new Listeners(parts.onEvent)
    const onTrouble = listeners.trouble.bind(listeners)
    this.#parts = parts
    this.#listeners = listeners
    this.#handlers = new Handlers({
      clock,
      random,
      onFailure: (firing, error, outcome) => listeners.tell({ type: 'failed', firing, error, outcome }),
    })
    this.#pauses = new Pauses(store, namespace)
    const shared =
      parts.within ??
      new SharedEngine({
        store,
        clock,
        random,
        settings: parts.settings,
        history,
        holdsAll: parts.holdsAll,
        tracing: parts.tracing,
        onEvent: (event) => listeners.tell(event),
        peers: parts.peers,
      })
    const { engine, allowance } = shared
    shared.add(namespace, {
      deliver: this.#handlers.deliver,
      concurrencyOf: (kind) => this.#concurrencyOf(kind),
      rateOf: (kind) => this.#handlers.rateOf(kind),
      kinds: () => this.#openKinds(),
      abortAll: (reason) => this.#handlers.abortAll(reason),
      stopWaiting: () => this.#desk.stopWaiting(),
    })
    this.#shared = shared
    const kinds = new Kinds({ store, namespace, onTrouble })
    const desk = new LeaseDesk({
      clock,
      member: engine.memberId,
      onWanted: (kind) => engine.refreshKind(namespace, kind),
    })
    this.#desk = desk
    this.#leases = new Leases({
      desk,
      kinds,
      claims: engine.settings.strategy === 'claim',
      isForWorkers: (kind) => this.#handlers.isForWorkers(kind),
    })
    const guard = typeof parts.guard === 'object' ? new Guard(parts.guard) : undefined
    this.#targets = new Targets({ clock, random, guard, desk, onEvent: (event) => this.#targetEvent(event) })
    this.#storedTargets = new StoredTargets({
      store,
      namespace,
      // Whoever names a URL there is not the program that calls it.
      guard: parts.guard === false ? undefined : (guard ?? new Guard()),
      onChange: (kind, target) => this.#putStoredTarget(kind, target),
      onTrouble,
    })
    const requests = new Requests({ namespace, clock, history, kinds })
    const noted = requests.noted.bind(requests)
    const records = new Records({
      store,
      clock,
      namespace,
      kinds,
      progressOf: (row) => engine.progressOf(row),
    })
    const checkOpen = (): void => this.#checkOpen()
    this.#engine = engine
    this.#kinds = kinds
    this.#requests = requests
    this.#records = records
    this.#selection = new Selection({ store, records, kinds, namespace })
    const spread = new Spread({ store, clock, onTrouble })
    const quota = new NamespaceQuota({ store, clock, namespace })
    this.#quota = quota
    this.#setsParts = {
      engine,
      store,
      clock,
      random,
      namespace,
      history,
      kinds,
      spread,
      quota,
      tracing: parts.tracing,
      checkOpen,
    }
    this.#sets = new Sets(this.#setsParts)
    this.#manyChanges = new ManyChanges(engine, this.#selection)
    this.#redrives = new Redrives({ engine, store, clock, random, noted })
    this.#timerPauses = new TimerPauses({ engine, records, noted })
    this.#drains = new Drains({ engine, clock, allowance })
    this.#chores = new Chores(clock, onTrouble)
  }

  /** The engine underneath, for those who watch it. */
  get engine(): TimerEngine {
    return this.#engine
  }

  /** Listens until the answer is called. */
  onEvent(listener: (event: TimersEvent) => void): () => void {
    return this.#listeners.add(listener)
  }

  // ---- life cycle

  async open(): Promise<void> {
    await this.#engine.open()
    await this.#pauses.look()
    await this.#quota.look()
    await this.#kinds.look()
    await this.#storedTargets.look()
  }

  /**
   * Timers of another namespace on the same store: fired by this instance, started and stopped with these, heard by
   * whoever listens to these. Asked for twice they are the same.
   */
  async within(namespace: string): Promise<Timers> {
    this.#checkOpen()
    return namespace === this.#parts.namespace ? this : await this.#inner.of(namespace)
  }

  /** Loads and fires from now on. Idempotent. */
  async start(): Promise<void> {
    this.#checkOpen()
    await this.#drains.idle
    if (this.#isStarted) return
    this.#isStarted = true
    await this.#engine.start()
    await this.#kinds.rememberAll()
    // Where nobody shares the store, only this instance pauses anything or sets a target.
    if (!this.#parts.holdsAll) {
      this.#chores.every(this.#engine.settings.acquireMs, 'settings', async () => {
        // A kind that another instance set first may be one for the handler of all others.
        const isNew = this.#handlers.hasOthers && (await this.#kinds.look())
        if ((await this.#pauses.look()) || isNew) this.#engine.refresh()
        await this.#storedTargets.look()
        await this.#quota.look()
      })
    }
    const { historyMs } = this.#parts
    // One prunes for all namespaces of the store.
    if (historyMs !== Infinity && !this.#isInner)
      this.#chores.every(pruneMsOf(historyMs), 'pruneHistory', () => this.#prune())
    await this.#inner.start()
  }

  /** Finishes attempts under way (bounded), lets go of everything. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /**
   * One bounded pass: fires what is due, waits for it, and lets go again. For functions that are called now and
   * then instead of running all the time. Answers how many attempts were started.
   */
  async drain(options: DrainOptions = {}): Promise<Drained> {
    this.#checkOpen()
    if (this.#isStarted)
      throw new StateError('started', 'these timers fire by themselves: drain those that were not started')
    return await this.#drains.drain(
      options,
      async () => {
        await this.#pauses.look()
        if (this.#handlers.hasOthers) await this.#kinds.look()
        await this.#storedTargets.look()
        await this.#kinds.rememberAll()
      },
      async () => {
        if (this.#parts.historyMs !== Infinity) await this.#prune()
      },
    )
  }

  // ---- handlers

  /**
   * The function that gets the firings of a kind, one by one. With `transaction: true`, what it writes by
   * `firing.transaction` and that the firing is dealt with are committed together, or neither.
   */
  handle<Payload>(
    kind: TimerKind<Payload>,
    handle: HandleInTransaction<Payload>,
    options: { readonly transaction: true },
  ): void
  handle<Payload>(
    kind: TimerKind<Payload>,
    handle: Handle<Payload>,
    options?: { readonly transaction?: false },
  ): void
  handle<Payload>(
    kind: TimerKind<Payload>,
    handle: Handle<Payload> | HandleInTransaction<Payload>,
    options: { readonly transaction?: boolean } = {},
  ): void {
    this.#kinds.use(kind)
    checkFunction('handle', handle)
    const how = howToHandle(kind, options, this.#engine, this.#parts.store)
    this.#handlers.add({ ...how, one: handle as Handle<unknown>, many: undefined })
    this.#engine.refresh()
  }

  /** The function that gets the firings of a kind in batches: the fast way. */
  handleMany<Payload>(kind: TimerKind<Payload>, handle: HandleMany<Payload>): void {
    this.#kinds.use(kind)
    checkFunction('handleMany', handle)
    this.#handlers.add({ ...handlerOf(kind, 50_000), one: undefined, many: handle as HandleMany<unknown> })
    this.#engine.refresh()
  }

  /** The function that gets the firings of every kind that has no handler of its own, one by one. */
  handleOthers(handle: Handle<unknown>, options: KindOptions<unknown> = {}): void {
    checkFunction('handleOthers', handle)
    this.#handlers.addOthers({ ...handlerOf(timer('others', options), 1000), one: handle, many: undefined })
    this.#engine.refresh()
  }

  /** Has the firings of a kind sent to a webhook, kept for workers or logged, instead of handled here. */
  deliver<Payload>(kind: TimerKind<Payload>, target: Target): void {
    this.#kinds.use(kind)
    this.#handlers.add(this.#targets.handlerOf(kind, target))
    this.#engine.refresh()
  }

  // ---- targets in the store

  /**
   * Keeps a target for a kind in the store: every instance that has no handler of its own for the kind sends its
   * timers there, this one at once, others within about two seconds. A webhook there is guarded, unless these timers
   * were opened with another `guard`; without a `secret` it keeps the one it had.
   */
  async setTarget(kind: AnyKind, target: TargetForm): Promise<TargetView> {
    this.#checkOpen()
    const name = this.#kinds.newNameOf(kind)
    const view = await this.#storedTargets.set(name, target)
    await this.#kinds.remember(name)
    return view
  }

  /** The target of a kind in the store, without its secrets; undefined when there is none. */
  async getTarget(kind: AnyKind): Promise<TargetView | undefined> {
    return await this.#storedTargets.get(this.#kinds.newNameOf(kind))
  }

  /** All targets in the store, by kind, without their secrets. */
  async listTargets(): Promise<readonly TargetView[]> {
    return await this.#storedTargets.list()
  }

  /** Takes the target of a kind out of the store: its timers wait, unless they have a handler. */
  async removeTarget(kind: AnyKind): Promise<'removed' | 'unknown'> {
    this.#checkOpen()
    return await this.#storedTargets.remove(this.#kinds.newNameOf(kind))
  }

  // ---- workers

  /**
   * Due firings of kinds that have the target `lease`, for a worker that answers for each by its receipt. Those of
   * the shards of this instance. Waits for the first if it is told to; answers none when the time is over.
   */
  lease<Payload>(
    kinds: TimerKind<Payload> | readonly TimerKind<Payload>[],
    options?: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring<Payload>[]>
  lease(kinds: AnyKind | readonly AnyKind[], options?: LeaseRequestOptions): Promise<readonly LeasedFiring[]>
  async lease(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions = {},
  ): Promise<readonly LeasedFiring[]> {
    this.#checkOpen()
    return await this.#leases.lease(kinds, options)
  }

  /** The leased firing is done, or fires once more if it is told to. */
  async ack(receipt: string, options: AckOptions = {}): Promise<AckOutcome> {
    return this.#leases.ack(receipt, options)
  }

  /** The lease ends that long from now, instead of when it would have. */
  async extend(receipt: string, duration: Duration): Promise<ExtendOutcome> {
    return this.#leases.extend(receipt, duration)
  }

  /** The attempt at the leased firing has failed: it is tried again, or given up. */
  async release(receipt: string, options: ReleaseOptions = {}): Promise<ReleaseOutcome> {
    return this.#leases.release(receipt, options)
  }

  // ---- timers

  /** Sets a timer; one of the same key is replaced. Without a key one is made up. */
  async set<Payload>(
    kind: TimerKind<Payload>,
    key: string | undefined,
    options: SetOptions<Payload>,
  ): Promise<SetTimer> {
    const answers = await this.#sets.set(kind, [options], () => key)
    return answers.at(0)!
  }

  /** Sets many timers of one kind in one go; one answer each, by `at` or one after the other. */
  async setMany<Payload>(kind: TimerKind<Payload>, rows: readonly SetManyRow<Payload>[]): Promise<SetTimers> {
    return await this.#sets.set(kind, rows, (index) => rows[index]!.key)
  }

  /**
   * Sets timers as a part of a transaction of yours, given by its connection: `timers.using(client).set(…)`
   * between `begin` and `commit`. Only on stores that have such transactions.
   */
  using(transaction: unknown): TransactionSets {
    return new TransactionSets(this.#setsParts, this.#sets, transaction)
  }

  /** Gives a timer another due time; its payload stays. By kind and key, or by handle. */
  move<Payload>(kind: TimerKind<Payload> | string, key: string, when: When): Promise<MoveOutcome>
  move<Payload>(
    kind: TimerKind<Payload> | string,
    key: string,
    when: When,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'>
  move(handle: TimerHandle, when: When): Promise<MoveOutcome>
  async move(
    of: AnyKind,
    keyOrWhen: string | When,
    when?: When,
    options: ChangeOptions = {},
  ): Promise<MoveOutcome | 'conflict'> {
    const isByKey = typeof keyOrWhen === 'string'
    const dueAt = this.#requests.dueAt(isByKey ? when : keyOrWhen)
    return await this.#move(of, isByKey ? keyOrWhen : undefined, dueAt, options)
  }

  /** Fires a timer now, whenever it was due. By kind and key, or by handle. */
  fireNow<Payload>(kind: TimerKind<Payload> | string, key: string): Promise<MoveOutcome>
  fireNow<Payload>(
    kind: TimerKind<Payload> | string,
    key: string,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'>
  fireNow(handle: TimerHandle): Promise<MoveOutcome>
  async fireNow(of: AnyKind, key?: string, options: ChangeOptions = {}): Promise<MoveOutcome | 'conflict'> {
    return await this.#move(of, key, this.#parts.clock.now(), options)
  }

  /** Takes a timer away. By kind and key, or by handle. Never silent: the answer says what became of it. */
  cancel<Payload>(kind: TimerKind<Payload> | string, key: string): Promise<CancelOutcome>
  cancel<Payload>(
    kind: TimerKind<Payload> | string,
    key: string,
    options: ChangeOptions,
  ): Promise<CancelOutcome | 'conflict'>
  cancel(handle: TimerHandle): Promise<CancelOutcome>
  async cancel(of: AnyKind, key?: string, options: ChangeOptions = {}): Promise<CancelOutcome | 'conflict'> {
    const named = this.#requests.named(of, key)
    const name = named instanceof Promise ? await named : named
    const [answer] = await this.#engine.submit([this.#requests.cancel(name, options)])
    return outcomeOf(answer!, withConflict(cancelOutcomes, options))
  }

  /** Moves timers by their keys, or all that a query finds. */
  async moveMany(many: Many, when: When, options: ManyOptions = {}): Promise<ManyOutcome<MoveOutcome>> {
    const dueAt = this.#requests.dueAt(when)
    return await this.#manyChanges.change(many, options, moveOutcomes, (name) =>
      this.#requests.move(name, dueAt),
    )
  }

  /** Cancels timers by their keys, or all that a query finds. */
  async cancelMany(many: Many, options: ManyOptions = {}): Promise<ManyOutcome<CancelOutcome>> {
    return await this.#manyChanges.change(many, options, cancelOutcomes, (name) =>
      this.#requests.cancel(name),
    )
  }

  /** A timer as it stands; undefined when there is none. By kind and key, or by handle. */
  get<Payload>(kind: TimerKind<Payload> | string, key: string): Promise<TimerView<Payload> | undefined>
  get(handle: TimerHandle): Promise<TimerView | undefined>
  async get(of: AnyKind, key?: string): Promise<TimerView | undefined> {
    return await this.#records.get(await this.#requests.named(of, key))
  }

  // ---- what there is, was and will be

  list(query: TimerQuery & PageOptions = {}): Promise<Listed<TimerView>> {
    return this.#records.list(query)
  }

  /** How many timers are due in each slice of the time to come. */
  forecast(options: ForecastOptions = {}): Promise<readonly ForecastSlice[]> {
    return this.#records.forecast(options)
  }

  /** What happened, oldest first, as far as the history was told. */
  history(
    query: {
      kind?: AnyKind
      key?: string
      from?: Instant
      until?: Instant
    } & PageOptions = {},
  ): Promise<Listed<TimerEvent>> {
    return this.#records.history(query)
  }

  /** Everything known about a key: the timer, its history, its dead letters, told in order. */
  why(kind: AnyKind, key: string): Promise<Why> {
    return this.#records.why(kind, key)
  }

  /** Timers that were given up. */
  dead(query: { kind?: AnyKind; key?: string } & PageOptions = {}): Promise<Listed<DeadView>> {
    return this.#records.dead(query)
  }

  /**
   * Sets dead letters again, due now: those of these ids, or all that a query finds. A timer that stands under
   * the key of one is not replaced: the dead one is set beside it, and the answer says where.
   */
  async redrive(which: WhichDead): Promise<Redriven> {
    return await this.#redrives.redrive(this.#selection.dead(which))
  }

  /** How it goes, here and in the store. */
  async stats(): Promise<TimersStats> {
    const store = await this.#parts.store.counts()
    const pending = store.created - store.settled - store.cancelled - store.replaced - store.dead
    return { ...this.#engine.stats(), pending, store }
  }

  // ---- quotas

  /**
   * Limits what this namespace may hold, for every instance: others hear of it within about two seconds. A `set` that
   * would take it beyond is refused with 'quota-exceeded'; nothing that is there is touched. `undefined` ends it.
   */
  async setQuota(limits: QuotaLimits | undefined): Promise<void> {
    this.#checkOpen()
    await this.#quota.put(limits)
  }

  /** The quota and what is used of it, counted in the store unless that was done a moment ago; empty without one. */
  async getQuota(): Promise<QuotaView> {
    return await this.#quota.view()
  }

  /** As `getQuota`, by what this instance has counted so far. */
  get knownQuota(): QuotaView {
    return this.#quota.known
  }

  // ---- pausing

  /**
   * Pauses everything, a kind, or a timer. Due times stay: what falls due meanwhile waits and fires when it is
   * resumed. Other instances hear of it within about two seconds. A timer that is set, moved or fired now is
   * no longer paused.
   */
  pause(kind?: AnyKind): Promise<'paused'>
  pause(kind: AnyKind, key: string): Promise<PauseOutcome>
  async pause(kind?: AnyKind, key?: string): Promise<PauseOutcome> {
    if (kind !== undefined && key !== undefined) {
      return await this.#timerPauses.pause(await this.#requests.named(kind, key))
    }
    await this.#putPause(kind, true)
    return 'paused'
  }

  /** Ends a pause. A timer that was not paused stays as it is, and the answer is the same. */
  resume(kind?: AnyKind): Promise<'resumed'>
  resume(kind: AnyKind, key: string): Promise<ResumeOutcome>
  async resume(kind?: AnyKind, key?: string): Promise<ResumeOutcome> {
    if (kind !== undefined && key !== undefined) {
      return await this.#timerPauses.resume(await this.#requests.named(kind, key))
    }
    await this.#putPause(kind, false)
    return 'resumed'
  }

  /** What is paused: kinds by their names, and whether everything is. Single timers tell of themselves. */
  async paused(): Promise<{ readonly all: boolean; readonly kinds: readonly string[] }> {
    return this.#pauses.standing
  }

  /** The names of the kinds that were set or handled in this namespace, as far as is known. */
  async kinds(): Promise<readonly string[]> {
    await this.#kinds.look()
    return this.#kinds.names
  }

  async #putPause(kind: AnyKind | undefined, isPaused: boolean): Promise<void> {
    this.#checkOpen()
    await this.#pauses.put(kind === undefined ? undefined : await this.#kinds.nameOf(kind), isPaused)
    this.#engine.refresh()
  }

  // ---- within

  #checkOpen(): void {
    if (this.#stopping !== undefined)
      throw new StateError('stopped', 'these timers were stopped: open others')
  }

  async #prune(): Promise<void> {
    const { store, clock, historyMs } = this.#parts
    await store.pruneHistory(clock.now() - historyMs)
  }

  #concurrencyOf(kind: string): number {
    return this.#pauses.isPaused(kind) ? 0 : this.#handlers.concurrencyOf(kind)
  }

  /** The kinds that are handled here and not paused. */
  #openKinds(): readonly KindName[] {
    const { namespace } = this.#parts
    const names = new Set([...this.#handlers.kinds, ...(this.#handlers.hasOthers ? this.#kinds.names : [])])
    return [...names].filter((kind) => this.#concurrencyOf(kind) > 0).map((kind) => ({ namespace, kind }))
  }

  async #move(
    of: AnyKind,
    key: string | undefined,
    dueAt: number,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'> {
    const named = this.#requests.named(of, key)
    const name = named instanceof Promise ? await named : named
    const [answer] = await this.#engine.submit([this.#requests.move(name, dueAt, options)])
    return outcomeOf(answer!, withConflict(moveOutcomes, options))
  }

  #putStoredTarget(kind: string, stored: StoredTarget): void {
    this.#handlers.putStored(kind, this.#targets.storedHandlerOf(kind, stored))
    const state = stored === undefined ? 'removed' : stored === 'refused' ? stored : 'set'
    this.#targetEvent({ type: 'target', kind, state })
  }

  #targetEvent(event: TargetEvent | LoggedEvent): void {
    this.#listeners.tell(event)
    if (event.type === 'logged') return
    if (event.state !== 'gone') this.#engine.refresh()
    else void this.#chores.once('settings', () => this.#putPause(event.kind, true))
  }

  get #isInner(): boolean {
    return this.#parts.within !== undefined
  }

  async #openWithin(namespace: string): Promise<Timers> {
    const timers = new Timers({
      ...this.#parts,
      namespace,
      ownsStore: false,
      within: this.#shared,
      onEvent: (event) => this.#listeners.tell(event),
    })
    await timers.open()
    this.#engine.refresh()
    return timers
  }

  async #stop(): Promise<void> {
    this.#chores.end()
    if (this.#isInner) {
      this.#shared.remove(this.#parts.namespace)
      this.#desk.stop()
      await this.#targets.stop()
      return
    }
    this.#shared.stopWaiting()
    // Handlers have half of the time to end by themselves, and half of it to end because they are told to.
    const patience = this.#parts.clock.wakeAfter(this.#engine.settings.stopMs / 2, () => {
      this.#shared.abortAll(new StateError('stopped', 'these timers are being stopped'))
    })
    await this.#engine.stop()
    await this.#inner.stop()
    await this.#targets.stop()
    this.#desk.stop()
    patience.cancel()
    if (this.#parts.ownsStore) await this.#parts.store.stop()
  }
}

/** What one can do with timers, on a store of one's own or on that of a server. */
export interface TimersApi extends Omit<Timers, 'within' | 'knownQuota'> {
  within(namespace: string): Promise<TimersApi>
}

/** Only whoever asked for a condition may hear that it did not hold. */
function withConflict<Outcome extends MoveOutcome | CancelOutcome>(
  outcomes: readonly Outcome[],
  { ifRevision }: ChangeOptions,
): readonly (Outcome | 'conflict')[] {
  return ifRevision === undefined ? outcomes : [...outcomes, 'conflict']
}

/** How often old history is dropped: a hundredth of its retention is soon enough. */
function pruneMsOf(historyMs: number): number {
  return Math.min(Math.max(historyMs / 100, SHORTEST_PRUNE_MS), LONGEST_PRUNE_MS)
}
