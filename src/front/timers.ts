import { PeriodicTasks } from '../async/index.js'
import type { Handle, HandleMany, LeasedFiring, Target, TargetForm, TargetView } from '../delivery/index.js'
import type { TimerEngine } from '../engine/index.js'
import { checkFunction, StateError } from '../error/index.js'
import type { Listed } from '../store/index.js'
import type { Duration } from '../time/index.js'
import { keyOfRow, keyOfSet } from '../timer/index.js'
import type { DeadView, QuotaLimits, QuotaView, SetTimer, SetTimers, TimerView } from '../timer/index.js'
import { type CancelOutcome, type ChangeOptions, Changes, type MoveOutcome } from './change/changes.js'
import type { EachChange } from './change/each-change.js'
import type { ManyOptions, ManyOutcome } from './change/many-changes.js'
import type { Redriven } from './change/redrives.js'
import type { Many, WhichDead } from './change/selection.js'
import type { PauseOutcome, ResumeOutcome } from './change/timer-pauses.js'
import { type Drained, type DrainOptions, Drains } from './deliver/drain.js'
import { FiringRouter } from './deliver/firing-router.js'
import type {
  AckOptions,
  AckOutcome,
  ExtendOutcome,
  LeaseRequestOptions,
  ReleaseOptions,
  ReleaseOutcome,
} from './deliver/leases.js'
import { FrontDoor } from './front-door.js'
import type { AnyKind, KindOptions, TimerKind, UnknownKind } from './kind.js'
import { Kinds } from './kinds.js'
import { NameTurns } from './name-turns.js'
import { NamespaceTimers } from './namespace-timers.js'
import type { TimerEvent } from './read/history-policy.js'
import {
  type ForecastOptions,
  type ForecastSlice,
  type PageOptions,
  Records,
  type TimerQuery,
  type Why,
} from './read/records.js'
import { Outcomes } from './read/outcomes.js'
import { NamespaceQuota } from './set/namespace-quota.js'
import type { SetManyRow, SetOptions } from './set/set-request.js'
import { Sets } from './set/sets.js'
import type { TransactionSets } from './set/transaction-sets.js'
import { SharedEngine } from './shared-engine.js'
import { TimerNames } from './timer-names.js'
import type { TimersParts } from './timers-parts.js'
import type { TimersStats } from './timers-stats.js'
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
  readonly #drains: Drains
  readonly #tasks: PeriodicTasks
  readonly #upkeep: Upkeep
  readonly #namespaces = new NamespaceTimers((namespace) => this.#openWithin(namespace))

  constructor(parts: TimersParts) {
    super(parts.onEvent)
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
    const records = new Records({ engine, store, namespace, kinds, outcomes })
    const { guard } = parts
    const router = new FiringRouter({
      store,
      namespace,
      random,
      guard,
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
      turns,
      outcomes,
    })
    this.#records = records
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

  // ---- life cycle

  async open(): Promise<void> {
    await this.engine.open()
    await this.#upkeep.open()
  }

  async within(namespace: string): Promise<Timers> {
    this.checkOpen()
    return namespace === this.#parts.namespace ? this : await this.#namespaces.of(namespace)
  }

  override async start(): Promise<void> {
    this.checkOpen()
    await this.#drains.idle
    await super.start()
  }

  protected async startFiring(): Promise<void> {
    await this.engine.start()
    await this.#upkeep.start()
    await this.#namespaces.start()
  }

  protected async stopFiring(): Promise<void> {
    this.#tasks.stop()
    if (this.#parts.within === undefined) await this.#stopEngine()
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

  async setTarget(kind: AnyKind, target: TargetForm): Promise<TargetView> {
    this.checkOpen()
    const name = this.#kinds.newNameOf(kind)
    const view = await this.#router.storedTargets.set(name, target)
    await this.#kinds.remember(name)
    return view
  }

  async getTarget(kind: AnyKind): Promise<TargetView | undefined> {
    return await this.#router.storedTargets.get(this.#kinds.newNameOf(kind))
  }

  async listTargets(): Promise<readonly TargetView[]> {
    return await this.#router.storedTargets.list()
  }

  async removeTarget(kind: AnyKind): Promise<'removed' | 'unknown'> {
    this.checkOpen()
    return await this.#router.storedTargets.remove(this.#kinds.newNameOf(kind))
  }

  protected async leaseFirings(
    kinds: AnyKind | readonly AnyKind[],
    options: LeaseRequestOptions,
  ): Promise<readonly LeasedFiring[]> {
    return await this.#router.leases.lease(kinds, options)
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
    keyOrOptions: string | SetOptions<unknown>,
    options: SetOptions<unknown> = keyOrOptions as SetOptions<unknown>,
  ): Promise<SetTimer> {
    const key = keyOfSet(kind, keyOrOptions, options)
    const answers = await this.#sets.set(kind, [options], () => key)
    return answers.at(0)!
  }

  async setMany<Payload, Input>(
    kind: TimerKind<Payload, Input>,
    rows: readonly SetManyRow<NoInfer<Input>>[],
  ): Promise<SetTimers> {
    return await this.#sets.set(kind, rows, (index) => keyOfRow(kind, rows[index]!))
  }

  /** Sets timers in your own transaction, if the store has them: `timers.using(client).set(…)` before `commit`. */
  using(transaction: unknown): TransactionSets {
    return this.#sets.using(transaction)
  }

  protected moveTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    when: When | undefined,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'> {
    return this.#changes.move(kindOrHandle, key, when, options)
  }

  protected fireTimerNow(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
  ): Promise<MoveOutcome | 'conflict'> {
    return this.#changes.fireNow(kindOrHandle, key, options)
  }

  protected cancelTimer(
    kindOrHandle: AnyKind,
    key: string | undefined,
    options: ChangeOptions,
  ): Promise<CancelOutcome | 'conflict'> {
    return this.#changes.cancel(kindOrHandle, key, options)
  }

  async moveMany(many: Many, when: When, options: ManyOptions = {}): Promise<ManyOutcome<MoveOutcome>> {
    return await this.#changes.moveMany(many, when, options)
  }

  async cancelMany(many: Many, options: ManyOptions = {}): Promise<ManyOutcome<CancelOutcome>> {
    return await this.#changes.cancelMany(many, options)
  }

  /** Moves and cancels different timers; one result for each. For the batches of a server. */
  readonly changeEach: EachChange['apply'] = (changes) => this.#changes.changeEach(changes)

  async redrive(which: WhichDead): Promise<Redriven> {
    return await this.#changes.redrive(which)
  }

  // ---- reading

  protected async getTimer(kindOrHandle: AnyKind, key: string | undefined): Promise<TimerView | undefined> {
    return await this.#records.get(await this.#names.nameOf(kindOrHandle, key))
  }

  list(query: TimerQuery & PageOptions = {}): Promise<Listed<TimerView>> {
    return this.#records.list(query)
  }

  forecast(options: ForecastOptions = {}): Promise<readonly ForecastSlice[]> {
    return this.#records.forecast(options)
  }

  history(
    query: { kind?: AnyKind; key?: string; from?: Instant; until?: Instant } & PageOptions = {},
  ): Promise<Listed<TimerEvent>> {
    return this.#records.history(query)
  }

  why(kind: AnyKind, key: string): Promise<Why> {
    return this.#records.why(kind, key)
  }

  dead(query: { kind?: AnyKind; key?: string } & PageOptions = {}): Promise<Listed<DeadView>> {
    return this.#records.dead(query)
  }

  /** Statistics of this instance and of its store. */
  async stats(): Promise<TimersStats> {
    await this.engine.applyAcknowledged()
    const store = await this.#parts.store.counts()
    const pending = store.created - store.settled - store.cancelled - store.replaced - store.dead
    return { ...this.engine.stats(), pending, store }
  }

  async kinds(): Promise<readonly string[]> {
    await this.#kinds.refresh()
    return this.#kinds.names
  }

  // ---- quotas and pauses

  async setQuota(limits: QuotaLimits | undefined): Promise<void> {
    this.checkOpen()
    await this.#quota.put(limits)
  }

  async getQuota(): Promise<QuotaView> {
    return await this.#quota.view()
  }

  /** As `getQuota`, from this instance's last count. */
  get knownQuota(): QuotaView {
    return this.#quota.known
  }

  async paused(): Promise<{ readonly all: boolean; readonly kinds: readonly string[] }> {
    return this.#router.pauses.current
  }

  protected async pauseTimer(kind: AnyKind, key: string): Promise<PauseOutcome> {
    return await this.#changes.pause(kind, key)
  }

  protected async resumeTimer(kind: AnyKind, key: string): Promise<ResumeOutcome> {
    return await this.#changes.resume(kind, key)
  }

  protected async putPause(kind: AnyKind | undefined, isPaused: boolean): Promise<void> {
    this.checkOpen()
    await this.#router.putPause(kind === undefined ? undefined : await this.#kinds.nameOf(kind), isPaused)
  }

  // ---- other namespaces and the engine

  async #openWithin(namespace: string): Promise<Timers> {
    const timers = new Timers({
      ...this.#parts,
      namespace,
      ownsStore: false,
      within: this.#shared,
      onEvent: this.listeners.emit,
    })
    await timers.open()
    this.engine.refresh()
    return timers
  }

  /** Stops only this namespace. The timers that opened it go on. */
  async #leaveEngine(): Promise<void> {
    this.#shared.remove(this.#parts.namespace)
    this.#router.stopLeases()
    await this.#router.stopTargets()
  }

  async #stopEngine(): Promise<void> {
    this.#shared.stopWaiting()
    // Handlers get half of the time to end by themselves. Then their signals are aborted.
    const patience = this.#parts.clock.wakeAfter(this.engine.settings.stopMs / 2, () => {
      this.#shared.abortAll(new StateError('stopped', 'these timers are being stopped'))
    })
    await this.engine.stop()
    await this.#namespaces.stop()
    await this.#router.stopTargets()
    this.#router.stopLeases()
    patience.cancel()
    if (this.#parts.ownsStore) await this.#parts.store.stop()
  }
}
