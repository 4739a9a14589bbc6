import { type CallLimit, PeriodicTasks } from '../async/index.js'
import type { Handle, HandleMany, LeasedFiring, Target, TargetForm, TargetView } from '../delivery/index.js'
import type { TimerEngine } from '../engine/index.js'
import { checkFunction } from '../error/index.js'
import type { Listed, TransactionConnection } from '../store/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import { keyOfRow } from '../timer/index.js'
import type { DeadView, QuotaLimits, QuotaView, SetTimer, SetTimers, TimerView } from '../timer/index.js'
import { type CallOptions, callOptionsOf, Calls } from './call/calls.js'
import { type CancelOutcome, type ChangeOptions, Changes, type MoveOutcome } from './change/changes.js'
import type { ChangeResult, TimerChange } from './change/each-change.js'
import type { Edited, TimerEdit } from './change/edits.js'
import type { ManyOptions, ManyOutcome } from './change/many-changes.js'
import type { Redriven } from './change/redrives.js'
import { Operations } from './change/operations.js'
import type { Many, WhichDead } from './change/selection.js'
import { newPause, type Paused, type PauseOptions } from './change/pauses.js'
import type { PauseOutcome, ResumeOutcome } from './change/timer-pauses.js'
import { CLAIM_MS, EDIT_TIMEOUT_MS, timersDefaults } from './defaults.js'
import { type Drained, type DrainOptions, Drains } from './deliver/drain.js'
import type { DeliveryReport } from './deliver/delivery-report.js'
import { FiringRouter, type KindHere } from './deliver/firing-router.js'
import {
  type AckOptions,
  type AckOutcome,
  type ExtendOutcome,
  type LeaseRequestOptions,
  type ReleaseOptions,
  type ReleaseOutcome,
  waitMsOf,
} from './deliver/leases.js'
import type { Cause } from './diagnose/causes.js'
import { Diagnosis } from './diagnose/diagnosis.js'
import { FrontDoor } from './front-door.js'
import type { AnyKind, KindOptions, TimerKind, UnknownKind } from './kind/kind.js'
import { Kinds } from './kind/kinds.js'
import { NameTurns } from './call/name-turns.js'
import { NamespaceTimers } from './namespace-timers.js'
import type { TimerEvent } from './read/history-policy.js'
import { type ForecastOptions, type ForecastSlice, Records, type Why } from './read/records.js'
import { type CountOptions, type ListOptions, type PageOptions, TimerLists } from './read/timer-lists.js'
import type { CountedTimers, ListedTimers, TimerQuery } from './read/timer-query.js'
import { Outcomes } from './read/outcomes.js'
import { NamespaceQuota } from './set/namespace-quota.js'
import type { SetManyRow, SetOptions } from './set/set-request.js'
import { Sets } from './set/sets.js'
import { SharedEngine } from './shared-engine.js'
import { TimerNames } from './kind/timer-names.js'
import { TransactionTimers } from './transaction/transaction-timers.js'
import type { TimersParts } from './timers-parts.js'
import { type TimersStats, timersStatsOf } from './timers-stats.js'
import { Upkeep } from './upkeep.js'
import type { Instant, When } from './when.js'

/**
 * The front door on a store: sets, changes, reads and handles the timers of one namespace. `openTimers` makes it.
 * `FrontDoor` documents each call; the parts below do the work. Proven by test/front/timers.test.ts and
 * test/front/verbs.test.ts.
 */
export class Timers extends FrontDoor {
  readonly #parts: TimersParts
  readonly #shared: SharedEngine
  readonly #kinds: Kinds
  readonly #names: TimerNames
  readonly #router: FiringRouter
  readonly #quota: NamespaceQuota
  readonly #sets: Sets
  readonly #changes: Changes
  readonly #records: Records
  readonly #lists: TimerLists
  readonly #diagnosis: Diagnosis
  readonly #drains: Drains
  readonly #tasks: PeriodicTasks
  readonly #upkeep: Upkeep
  readonly #setCounts = new Map<string, number>()
  readonly #namespaces = new NamespaceTimers((namespace, onLeft) => this.#openWithin(namespace, onLeft))

  constructor(parts: TimersParts) {
    super(parts.onEvent, parts.calls ?? new Calls(parts.clock, timersDefaults.callTimeout))
    const { store, random, namespace, history, tracing } = parts
    const { listeners } = this
    const onStoreError = listeners.emitStoreError
    const checkOpen = (): void => this.checkOpen()
    const shared =
      parts.within ??
      new SharedEngine({
        store,
        clock: parts.clock,
        random,
        settings: parts.settings,
        history,
        holdsAll: parts.holdsAll,
        tracing,
        onEvent: listeners.emit,
        peers: parts.peers,
      })
    const { engine } = shared
    // Due times refer to the store's clock.
    const { clock } = engine
    const kinds = new Kinds({ store, namespace, onStoreError })
    const tasks = new PeriodicTasks(clock, onStoreError)
    const quota = new NamespaceQuota({ store, engine, namespace })
    const names = new TimerNames(namespace, kinds)
    const turns = new NameTurns()
    const outcomes = new Outcomes(engine, store)
    const diagnosis = new Diagnosis({
      engine,
      store,
      namespace,
      factsOf: (kind) => this.#router.factsOf(kind),
    })
    this.#diagnosis = diagnosis
    const lists = new TimerLists({ engine, store, namespace, kinds, diagnosis })
    const records = new Records({ engine, store, namespace, kinds, outcomes, diagnosis, lists })
    const { guard, seal } = parts
    const router = new FiringRouter({
      store,
      namespace,
      random,
      guard,
      seal,
      shared,
      kinds,
      listeners,
      tasks,
      checkOpen,
    })
    this.#parts = parts
    this.#shared = shared
    this.#kinds = kinds
    this.#names = names
    this.#router = router
    this.#quota = quota
    this.#sets = new Sets({
      engine,
      store,
      clock,
      random,
      namespace,
      history,
      kinds,
      quota,
      records,
      turns,
      tracing,
      mustCross: (kind) => router.isOnThreads(kind),
      checkOpen,
      onStoreError,
    })
    this.#changes = new Changes({
      engine,
      store,
      random,
      namespace,
      history,
      kinds,
      names,
      records,
      lists,
      turns,
      outcomes,
      quota,
      checkPayload: (kind, payload) => this.#sets.checkPayload(kind, payload),
    })
    this.#records = records
    this.#lists = lists
    this.#drains = new Drains(shared)
    this.#tasks = tasks
    this.#upkeep = new Upkeep({
      engine,
      store,
      kinds,
      router,
      quota,
      tasks,
      isShared: !parts.holdsAll,
      isMain: parts.within === undefined,
      historyMs: parts.historyMs,
    })
  }

  /** The engine of this instance, for monitoring. */
  get engine(): TimerEngine {
    return this.#shared.engine
  }

  /**
   * Runs another call to the store within the limits of a call. For the routes of a server. `call` must call `act` of its
   * limit just before it changes something.
   */
  bounded<Answer>(
    options: CallOptions | undefined,
    call: (limit: Pick<CallLimit, 'act'>) => Promise<Answer>,
  ): Promise<Answer> {
    return this.calls.run(options, call)
  }

  // ---- life cycle

  async open(): Promise<void> {
    await this.engine.open()
    await this.#upkeep.open()
  }

  async within(namespace: string, options?: CallOptions): Promise<Timers> {
    this.checkOpen()
    if (namespace === this.#parts.namespace) return this
    return await this.calls.run(options, () => this.#namespaces.of(namespace))
  }

  protected async startFiring(): Promise<void> {
    await this.#drains.idle
    await this.engine.start()
    await this.#upkeep.start()
    await this.#namespaces.start()
  }

  protected get stopMs(): number {
    const { stopMs, settleMs } = this.engine.settings
    return stopMs + settleMs
  }

  protected async stopFiring(limit: CallLimit): Promise<void> {
    this.#tasks.stop()
    if (this.#parts.within === undefined) await this.#stopEngine(limit)
    else await this.#leaveEngine()
  }

  protected async drainDue(options: DrainOptions): Promise<Drained> {
    return await this.#drains.drain(
      options,
      () => this.#upkeep.beforeDrain(),
      () => this.#upkeep.afterDrain(),
    )
  }

  // ---- handlers, targets and workers

  protected handleOne(kind: UnknownKind, handle: Handle<unknown>, isTransactional: boolean): void {
    this.#router.handleOne(kind, handle, isTransactional)
  }

  protected async handleModule(kind: UnknownKind, module: URL, threads: number): Promise<void> {
    await this.#router.handleModule(kind, module, threads)
  }

  handleMany<Payload>(kind: TimerKind<Payload, never>, handle: HandleMany<Payload>): void {
    checkFunction('handleMany', handle)
    this.#router.handleMany(kind, handle)
  }

  /** Registers the function that gets the firings of all kinds without a handler of their own, one by one. */
  handleOthers(handle: Handle<unknown>, options: KindOptions<unknown> = {}): void {
    checkFunction('handleOthers', handle)
    this.#router.handleOthers(handle, options)
  }

  /** Sends the firings of a kind to a webhook, to workers or to the log, instead of to a handler. */
  deliver(kind: UnknownKind, target: Target): void {
    this.#router.deliverTo(kind, target)
  }

  async setTarget(kind: AnyKind, target: TargetForm, options?: CallOptions): Promise<TargetView> {
    this.checkOpen()
    const name = this.#kinds.newNameOf(kind)
    return await this.calls.run(options, async (limit) => {
      const view = await this.#router.storedTargets.set(name, target, limit)
      await this.#kinds.remember(name)
      return view
    })
  }

  async getTarget(kind: AnyKind, options?: CallOptions): Promise<TargetView | undefined> {
    const name = this.#kinds.newNameOf(kind)
    return await this.calls.run(options, () => this.#router.storedTargets.get(name))
  }

  async listTargets(options?: CallOptions): Promise<readonly TargetView[]> {
    return await this.calls.run(options, () => this.#router.storedTargets.list())
  }

  async removeTarget(kind: AnyKind, options?: CallOptions): Promise<'removed' | 'unknown'> {
    this.checkOpen()
    const name = this.#kinds.newNameOf(kind)
    return await this.calls.run(options, (limit) => this.#router.storedTargets.remove(name, limit))
  }

  protected async leaseFirings(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring[]> {
    const { wait = 0, timeout } = options
    // The signal ends the wait in the broker, so that no firing goes to a worker that has gone.
    const lease = (limit: CallLimit) => this.#router.leases.lease(kinds, options, limit)
    return await this.calls.run(timeout === undefined ? {} : { timeout }, lease, waitMsOf(wait) + CLAIM_MS)
  }

  /**
   * Calls `onDue` once, when a firing of a kind with the target `lease` is due here and no worker waits for it. Returns
   * a function that ends the watch. A server uses it to wake workers that wait at other instances.
   */
  watchLeasable(kind: string, onDue: () => void): () => void {
    return this.#router.leases.watch(kind, onDue)
  }

  async ack(receipt: string, options: AckOptions = {}): Promise<AckOutcome> {
    return this.#router.leases.ack(receipt, options)
  }

  async extend(receipt: string, duration: Duration): Promise<ExtendOutcome> {
    return this.#router.leases.extend(receipt, duration)
  }

  async release(receipt: string, options: ReleaseOptions = {}): Promise<ReleaseOutcome> {
    return this.#router.leases.release(receipt, options)
  }

  // ---- setting and changing

  protected async setTimer(
    kind: UnknownKind,
    key: string | undefined,
    options: SetOptions<unknown>,
    limits: CallOptions | undefined,
  ): Promise<SetTimer> {
    // The hot path: `Sets` ends in time by itself.
    const limit = this.calls.begin(limits)
    try {
      const answers = await this.#sets.set(kind, [options], () => key, limit)
      this.#countSets(kind, 1)
      return answers.at(0)!
    } finally {
      this.calls.end(limit)
    }
  }

  async setMany<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    rows: readonly SetManyRow<NoInfer<Input>>[],
    limits?: CallOptions,
  ): Promise<SetTimers> {
    const keyOf = (index: number): string | undefined => keyOfRow(kind, rows[index]!)
    const answers = await this.calls.run(limits, (limit) => this.#sets.set(kind, rows, keyOf, limit))
    this.#countSets(kind, rows.length)
    return answers
  }

  /** How many sets of each kind this instance has accepted. */
  get setCounts(): ReadonlyMap<string, number> {
    return this.#setCounts
  }

  #countSets({ name }: UnknownKind, count: number): void {
    this.#setCounts.set(name, (this.#setCounts.get(name) ?? 0) + count)
  }

  /**
   * Sets, moves and cancels timers in your own transaction: they take effect if it commits. For stores on PostgreSQL. Takes
   * a client of `pg`. `carillon/orm` makes a connection from the transaction of an ORM or another driver.
   *
   * @example
   * ```ts
   * await client.query('begin')
   * await client.query("insert into orders (id) values ('7')")
   * await timers.using(client).set(remind, 'order:7', { in: '5m', payload: { orderId: '7' } })
   * await client.query('commit')
   * ```
   */
  using(transaction: TransactionConnection): TransactionTimers {
    const { store, random, history } = this.#parts
    return new TransactionTimers(
      {
        store,
        random,
        kinds: this.#kinds,
        names: this.#names,
        quota: this.#quota,
        sets: this.#sets,
        operations: new Operations(this.engine.clock, history),
        checkOpen: () => this.checkOpen(),
      },
      transaction,
    )
  }

  protected moveTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    when: When | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'> {
    return this.#changes.move(kindOrHandle, key, when, options, limit)
  }

  protected fireTimerNow(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<MoveOutcome | 'conflict'> {
    return this.#changes.fireNow(kindOrHandle, key, options, limit)
  }

  protected cancelTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
    limit: CallLimit,
  ): Promise<CancelOutcome | 'conflict'> {
    return this.#changes.cancel(kindOrHandle, key, options, limit)
  }

  async moveMany(many: Many, when: When, options: ManyOptions = {}): Promise<ManyOutcome<MoveOutcome>> {
    return await this.calls.run(callOptionsOf(options), (limit) =>
      this.#changes.moveMany(many, when, options, limit),
    )
  }

  async cancelMany(many: Many, options: ManyOptions = {}): Promise<ManyOutcome<CancelOutcome>> {
    return await this.calls.run(callOptionsOf(options), (limit) =>
      this.#changes.cancelMany(many, options, limit),
    )
  }

  /** Moves and cancels different timers; one result for each. For the batches of a server. */
  async changeEach(changes: readonly TimerChange[], options?: CallOptions): Promise<readonly ChangeResult[]> {
    // It ends in time by itself, with a result for each change.
    const limit = this.calls.begin(options)
    try {
      return await this.#changes.changeEach(changes, limit)
    } finally {
      this.calls.end(limit)
    }
  }

  /** Changes the payload or the tags of a timer. It keeps its due time, its schedule and its attempts. */
  async edit(kind: AnyKind, key: string, edit: TimerEdit, options: ChangeOptions = {}): Promise<Edited> {
    this.checkOpen()
    const { timeout = EDIT_TIMEOUT_MS } = options
    const bounded = { ...callOptionsOf(options), timeout: Math.min(parseDuration(timeout), EDIT_TIMEOUT_MS) }
    return await this.calls.run(bounded, (limit) => this.#changes.edit(kind, key, edit, options, limit))
  }

  async redrive(which: WhichDead, options?: CallOptions): Promise<Redriven> {
    return await this.calls.run(options, (limit) => this.#changes.redrive(which, limit))
  }

  async discard(which: WhichDead, options?: CallOptions): Promise<number> {
    return await this.calls.run(options, () => this.#changes.discard(which))
  }

  // ---- reading

  protected async getTimer(kindOrHandle: AnyKind, key: string | undefined): Promise<TimerView | undefined> {
    return await this.#records.get(await this.#names.nameOf(kindOrHandle, key))
  }

  list(query: TimerQuery & ListOptions = {}, options?: CallOptions): Promise<ListedTimers> {
    return this.calls.run(options, (limit) => this.#lists.list(query, limit))
  }

  count(query: TimerQuery & CountOptions = {}, options?: CallOptions): Promise<CountedTimers> {
    return this.calls.run(options, (limit) => this.#lists.count(query, limit))
  }

  forecast(query: ForecastOptions = {}, options?: CallOptions): Promise<readonly ForecastSlice[]> {
    return this.calls.run(options, () => this.#records.forecast(query))
  }

  history(
    query: { kind?: AnyKind; key?: string; from?: Instant; until?: Instant } & PageOptions = {},
    options?: CallOptions,
  ): Promise<Listed<TimerEvent>> {
    return this.calls.run(options, () => this.#records.history(query))
  }

  why(kind: AnyKind, key: string, options?: CallOptions): Promise<Why> {
    return this.calls.run(options, () => this.#records.why(kind, key))
  }

  /** Why due timers of this namespace do not fire, with what to do. Empty if nothing is found. */
  diagnose(options?: CallOptions): Promise<readonly Cause[]> {
    return this.calls.run(options, async () => this.#diagnosis.ofKinds(this.#kinds.names))
  }

  dead(
    query: { kind?: AnyKind; key?: string } & PageOptions = {},
    options?: CallOptions,
  ): Promise<Listed<DeadView>> {
    return this.calls.run(options, () => this.#records.dead(query))
  }

  /** What this instance knows about the deliveries of this namespace. For the metrics of a server. */
  get deliveries(): DeliveryReport {
    return this.#router.report
  }

  /** Statistics of this instance and of its store. */
  async stats(options?: CallOptions): Promise<TimersStats> {
    const store = await this.calls.run(options, async () => {
      await this.engine.applyAcknowledged()
      return await this.#parts.store.counts()
    })
    return timersStatsOf(store, this.#shared, this.#parts.fineClock)
  }

  /** What this instance could do with a firing of the kinds that it knows, and of others. */
  kindsHere(others: Iterable<string>): readonly KindHere[] {
    const names = new Set([...this.#kinds.names, ...others])
    return Array.from(names, (kind) => this.#router.kindHere(kind))
  }

  async kinds(options?: CallOptions): Promise<readonly string[]> {
    await this.calls.run(options, () => this.#kinds.refresh())
    return this.#kinds.names
  }

  // ---- quotas and pauses

  async setQuota(limits: QuotaLimits | undefined, options?: CallOptions): Promise<void> {
    this.checkOpen()
    await this.calls.run(options, (limit) => this.#quota.put(limits, limit))
  }

  async getQuota(options?: CallOptions): Promise<QuotaView> {
    return await this.calls.run(options, () => this.#quota.view())
  }

  /** As `getQuota`, from this instance's last count. */
  get knownQuota(): QuotaView {
    return this.#quota.known
  }

  async paused(): Promise<Paused> {
    return this.#router.pauses.current
  }

  protected async pauseTimer(
    kind: AnyKind,
    key: string,
    options: PauseOptions,
    limit: CallLimit,
  ): Promise<PauseOutcome> {
    return await this.#changes.pause(kind, key, options, limit)
  }

  protected async resumeTimer(kind: AnyKind, key: string, limit: CallLimit): Promise<ResumeOutcome> {
    return await this.#changes.resume(kind, key, limit)
  }

  protected async putPause(
    kind: AnyKind | undefined,
    options: PauseOptions | undefined,
    limit: CallLimit,
  ): Promise<void> {
    this.checkOpen()
    const pause = options && newPause(options, this.engine.clock.now())
    const name = kind === undefined ? undefined : await this.#kinds.nameOf(kind)
    await this.#router.putPause(name, pause, limit)
  }

  // ---- other namespaces and the engine

  async #openWithin(namespace: string, onLeft: () => void): Promise<Timers> {
    const timers = new Timers({
      ...this.#parts,
      onLeft,
      namespace,
      ownsStore: false,
      within: this.#shared,
      onEvent: this.listeners.emit,
      calls: this.calls,
    })
    await timers.open()
    this.engine.refresh()
    return timers
  }

  /** Stops only this namespace. The timers that opened it go on. */
  async #leaveEngine(): Promise<void> {
    this.#shared.remove(this.#parts.namespace)
    this.#parts.onLeft?.()
    this.#router.stopLeases()
    await Promise.all([this.#router.stopTargets(), this.#router.retireThreads(this.stopMs)])
  }

  async #stopEngine(limit: CallLimit): Promise<void> {
    const { store, ownsStore, fineClock } = this.#parts
    // Without its connections, the engine ends too, and the process can end.
    if (ownsStore) limit.onOver(() => void store.stop().catch(() => undefined))
    if (fineClock !== undefined) limit.onOver(() => void fineClock.stop())
    await this.#shared.stop(this.#parts.clock)
    await this.#namespaces.stop()
    await this.#router.stopTargets()
    this.#router.stopLeases()
    if (ownsStore) await store.stop()
    await fineClock?.stop()
  }
}
