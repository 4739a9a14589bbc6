import { StateError } from '../error/index.js'
import type { Clock } from '../time/index.js'
import type { RequestedOperation, SetColumns, ShardRow, Store } from '../store/index.js'
import { type Deliver, shardOf, type TimerName, type TimerRow } from '../timer/index.js'
import type { Answer, SubmitAnswer } from './answer.js'
import { InboxClient } from './write/inbox-client.js'
import { checkStrategy } from './check-strategy.js'
import type { OnEvent } from './event.js'
import { type DeliveryPolicy, unlimitedPolicy } from './delivery-policy.js'
import type { OwnerChange } from './own/owner-change.js'
import { HandedOverAttempts } from './own/handed-over-attempts.js'
import { ReportSender } from './own/report-sender.js'
import { OfferedAttempts } from './offer/offered-attempts.js'
import { OfferTaker } from './offer/offer-taker.js'
import { Offers } from './offer/offers.js'
import { unhandledKinds } from './offer/unhandled-kinds.js'
import { type CallLimit, Deadlines, KeepAlive, Sleeper } from '../async/index.js'
import { Membership } from './cluster/membership.js'
import { VISIT_LEASE_MS } from './defaults.js'
import { IdleShardVisitor } from './own/idle-shard-visitor.js'
import { newNonce } from './own/ownership.js'
import { type AcquiredShard, ShardAcquirer } from './own/shard-acquirer.js'
import { OwnerRouter } from './write/owner-router.js'
import type { PeerRequest, PeerMember, Peers } from './write/peers.js'
import { Submitter } from './write/submitter.js'
import { StartBudget } from './fire/start-budget.js'
import { StoreClock } from './cluster/store-clock.js'
import { kindViews } from './fire/kind-view.js'
import { Throttles } from './fire/throttles.js'
import { HANDS_OVER } from './cluster/protocol-version.js'
import { type EngineSettings, engineSettings } from './settings.js'
import { type RowProgress, ShardEngine, type ShardEngineParts } from './shard-engine.js'
import { EngineCounts } from './counts.js'
import type { EngineStats } from './stats.js'
import { SettleBacklog } from './settle/settle-backlog.js'
import type { TimerEngine } from './timer-engine.js'

/** The options of an engine. */
export interface EngineOptions {
  readonly store: Store
  readonly clock: Clock
  readonly deliver: Deliver
  /** A number from 0 to 1, as `Math.random`, which is the default. A simulation passes its own. */
  readonly random?: () => number
  /** The name of this instance among the members. Random by default. */
  readonly memberId?: string
  readonly settings?: Partial<EngineSettings>
  /** How many attempts may run. Parts that are left out set no limit. */
  readonly policy?: Partial<DeliveryPolicy>
  /** Acquire every shard at `open`, even if there are other members: for a store that is not shared. */
  readonly holdsAll?: boolean
  readonly onEvent?: OnEvent
  /** For operations that need the owner's answer. All others, and all without it, go through the inbox. */
  readonly peers?: Peers | undefined
}

/** What all shards of an instance share. */
type SharedParts = Omit<ShardEngineParts, 'row' | 'sentAt' | 'ownerChange' | 'onEnd'>

/**
 * One instance of the engine for the strategies `preload` and `lookahead`. It owns its part of the shards, fires their
 * timers, and carries out operations on any timer: on its own shards itself, on others through their owner. Instances
 * know of each other only through the store.
 *
 * Proven by test/engine/engine.test.ts, test/engine/simulation.test.ts and all mutants of test/engine/mutants.ts.
 */
export class OwnerEngine implements TimerEngine {
  readonly #store: Store
  /** The store's clock as far as it is known. Due times are compared with it. */
  readonly clock: Clock
  readonly #settings: EngineSettings
  readonly #holdsAll: boolean
  readonly #shared: SharedParts
  readonly #membership: Membership
  readonly #inboxClient: InboxClient
  readonly #visitor: IdleShardVisitor
  readonly #ownerRouter: OwnerRouter
  readonly #acquirer: ShardAcquirer
  readonly #submitter: Submitter
  // The operations that this instance carries out for others.
  readonly #peerCalls: Deadlines
  readonly #reportSender: ReportSender
  readonly #offeredAttempts: OfferedAttempts
  readonly #offerTaker: OfferTaker
  readonly #shards = new Map<number, ShardEngine>()
  // The counts of shards that are no longer here.
  readonly #endedCounts = new EngineCounts()
  readonly #sleeper: Sleeper
  readonly #acquireSleeper: Sleeper
  readonly #keepAlive: KeepAlive
  #offWake: () => void = () => undefined
  #opening: Promise<void> | undefined
  #isStarted = false
  #isStopping = false
  #stopping: Promise<void> | undefined
  #hasStopped = false
  #beating: Promise<void> = Promise.resolve()
  #acquiring: Promise<void> = Promise.resolve()
  #offering: Promise<void> = Promise.resolve()
  #publishedKinds = ''

  constructor(options: EngineOptions) {
    const { store, clock: machineClock, peers, random = Math.random } = options
    const time = new StoreClock(machineClock)
    const clock = store.clock === machineClock ? machineClock : time
    const settings = engineSettings(options.settings)
    checkStrategy(store, settings)
    const policy = { ...unlimitedPolicy(settings.concurrency), ...options.policy }
    const onEvent = options.onEvent ?? (() => undefined)
    const membership = new Membership({
      id: options.memberId ?? newNonce(random).toString(36),
      life: newNonce(random).toString(36),
      store,
      clock: machineClock,
      time,
      settings,
      onEvent,
      address: () => peers?.address,
      kinds: () => policy.takes(),
    })
    const common = { store, clock, machineClock, settings, random, onEvent, membership }
    this.#store = store
    this.clock = clock
    this.#settings = settings
    this.#holdsAll = options.holdsAll ?? false
    this.#membership = membership
    this.#visitor = new IdleShardVisitor({
      ...common,
      mayVisit: () => !this.#isStarted && !this.#isStopping && !this.#holdsAll,
      acquire: (seen) => this.#acquireForVisit(seen),
    })
    this.#inboxClient = new InboxClient({ ...common, visitor: this.#visitor })
    this.#ownerRouter = new OwnerRouter({
      inboxClient: this.#inboxClient,
      peers,
      memberOf: (member) => membership.peerOf(member),
      newDeadline: (limit) => {
        const timeoutMs = limit === undefined ? settings.requestTimeoutMs : limit.deadline - clock.monotonic()
        return Math.ceil(clock.now() + timeoutMs)
      },
    })
    this.#acquirer = new ShardAcquirer({
      ...common,
      ownerRouter: this.#ownerRouter,
      holdsAll: this.#holdsAll,
      shards: this.#shards,
      onAcquired: (acquired) => this.#openShard(acquired),
    })
    this.#submitter = new Submitter({
      ...common,
      shards: this.#shards,
      ownerRouter: this.#ownerRouter,
      inboxClient: this.#inboxClient,
    })
    const holder = { member: membership.id, life: membership.life }
    const reportSender = new ReportSender({ ...common, holder })
    const handedAttempts = new HandedOverAttempts({ ...common, reportSender })
    const firing = {
      deliver: options.deliver,
      policy,
      throttles: new Throttles(clock, policy),
      startBudget: new StartBudget(clock),
    }
    this.#shared = {
      ...common,
      ...firing,
      backlog: new SettleBacklog(clock, settings.settleCount),
      isClockRight: () => membership.isClockRight,
      handedAttempts,
      offers: new Offers({ ...common, policy }),
    }
    this.#reportSender = reportSender
    this.#offeredAttempts = new OfferedAttempts({ ...common, ...firing, reportSender, handedAttempts })
    this.#offerTaker = new OfferTaker({
      ...common,
      offeredAttempts: this.#offeredAttempts,
      onMembersChanged: () => this.#readMembers(),
    })
    this.#peerCalls = new Deadlines(clock)
    this.#sleeper = new Sleeper(clock)
    this.#acquireSleeper = new Sleeper(clock)
    this.#keepAlive = new KeepAlive(clock)
  }

  get settings(): EngineSettings {
    return this.#settings
  }

  get memberId(): string {
    return this.#membership.id
  }

  /** The instances that get shards, as far as this one knows. */
  get memberIds(): readonly string[] {
    return this.#membership.firingIds
  }

  /** The shards this instance owns now. */
  get shards(): readonly ShardEngine[] {
    return [...this.#shards.values()]
  }

  isHandled(namespace: string, kind: string): boolean {
    return this.#shared.offers.isHandled(namespace, kind)
  }

  handlersOf(namespace: string, kind: string): readonly string[] {
    return this.#shared.offers.handlersOf(namespace, kind)
  }

  stats(): EngineStats {
    const counts = new EngineCounts()
    counts.addAll(this.#endedCounts)
    for (const shard of this.#shards.values()) counts.addAll(shard.counts)
    counts.addAll(this.#offeredAttempts.counts)
    return {
      memberId: this.memberId,
      strategy: this.#settings.strategy,
      shards: this.shards.map((shard) => shard.view),
      counts,
      clockOffsetMs: this.#membership.clockOffsetMs,
      isClockOff: !this.#membership.isClockRight,
      unowned: this.#acquirer.unowned,
      unhandled: unhandledKinds(this.#shards.values(), this.#shared.offers),
      kinds: kindViews(this.#shared.throttles, this.#shards.values(), this.storeNow()),
    }
  }

  /** Joins the members. With `holdsAll` acquires every shard, without firing yet. */
  open(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  /** Acquires its part of the shards and fires from now on. Opens first if that was not done. */
  async start(): Promise<void> {
    await this.open()
    if (this.#isStarted || this.#isStopping) return
    this.#isStarted = true
    // The process stays alive even while other members own every shard: some will come here.
    this.#keepAlive.start()
    // A shard that was taken for a moment is released first.
    await this.#visitor.stop()
    if (this.#isStopping) return
    this.#offeredAttempts.open()
    for (const shard of this.#shards.values()) shard.start()
    await this.#membership.fire(true)
    this.#publish()
    await this.#acquirer.acquire()
  }

  storeNow(): number {
    return this.clock.now()
  }

  hearMembers(): Promise<void> {
    return this.#membership.hear()
  }

  peerOf(memberId: string): PeerMember | undefined {
    return this.#membership.peerOf(memberId)
  }

  get transactionCapacity(): number {
    return this.#store.transactions?.capacity ?? 0
  }

  /** Whether everything that is due in the shards of this instance has been started and has ended. */
  get isCaughtUp(): boolean {
    const isIdle = this.#offeredAttempts.isIdle
    return isIdle && this.#shards.size > 0 && this.shards.every((shard) => shard.isCaughtUp)
  }

  /** Releases its shards and fires nothing more until it is started again. */
  async rest(): Promise<void> {
    this.#isStarted = false
    this.#acquirer.forgetUnowned()
    this.#keepAlive.stop()
    await Promise.all([this.#endOffered(), ...this.shards.map((shard) => shard.stop())])
    if (!this.#isStopping) await this.#membership.fire(false)
    if (this.#holdsAll && !this.#isStopping) await this.#acquirer.acquire()
  }

  /** Finishes attempts under way (bounded), settles, releases its shards, leaves the members. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  /** A handler was added or removed: lanes may start more or fewer timers. */
  refresh(): void {
    this.#shared.throttles.refresh()
    for (const shard of this.#shards.values()) shard.refresh()
    this.#offeredAttempts.flush()
    if (this.#isStarted) this.#publish()
  }

  /** More or fewer attempts of one kind may run than before. */
  refreshKind(namespace: string, kind: string): void {
    this.#shared.throttles.refreshKind(namespace, kind)
  }

  /** How far a row has got in this instance; 'waiting' for a row of another instance. */
  progressOf(row: TimerRow): RowProgress {
    return this.#shards.get(shardOf(row, this.#store.shardCount))?.progressOf(row) ?? 'waiting'
  }

  /** Carries out operations, here or through the owner of their shard; one answer each. */
  submit(operations: readonly RequestedOperation[], limit?: CallLimit): Promise<readonly SubmitAnswer[]> {
    return this.#isStopping ? Promise.reject(this.#stopped()) : this.#submitter.submit(operations, limit)
  }

  submitPlain(sets: SetColumns, limit?: CallLimit): Promise<Float64Array | readonly SubmitAnswer[]> {
    return this.#isStopping ? Promise.reject(this.#stopped()) : this.#submitter.submitPlain(sets, limit)
  }

  async applyAcknowledged(names?: readonly TimerName[]): Promise<void> {
    // If this instance holds every shard, nobody else appends requests.
    if (this.#holdsAll) return
    const busy = names === undefined ? await this.#store.busyInboxes() : await this.#shardsWaitingFor(names)
    await Promise.all(
      busy.map(async (shard) => {
        const isApplied = await this.#shards.get(shard)?.applyInbox()
        if (isApplied !== true) await this.#inboxClient.applyAll(shard)
      }),
    )
  }

  /** The shards in whose inbox a request for one of the names waits. */
  async #shardsWaitingFor(names: readonly TimerName[]): Promise<readonly number[]> {
    const areWaiting = await this.#store.areWaiting(names)
    const waiting = names.filter((_, index) => areWaiting[index])
    return [...new Set(waiting.map((name) => shardOf(name, this.#store.shardCount)))]
  }

  async submitFor({ shard, deadline, operations }: PeerRequest): Promise<readonly Answer[] | undefined> {
    const leftMs = deadline - this.storeNow()
    if (this.#isStopping || leftMs <= 0) return undefined
    // The instance that asks gives up at the deadline, so what is not sent by then must never be.
    const limit = this.#peerCalls.begin(leftMs)
    try {
      return await this.#submitter.submitFor(shard, operations, limit)
    } finally {
      this.#peerCalls.end(limit)
    }
  }

  #stopped(): StateError {
    return new StateError('stopped', 'this instance was stopped: open another')
  }

  async #open(): Promise<void> {
    await this.#membership.join()
    this.#offWake = this.#store.onWake((shard) => {
      this.#shards.get(shard)?.poke()
      this.#inboxClient.poke(shard)
      // Its owner may have released it.
      if (this.#acquirer.takeWanted(shard) && this.#isStarted) this.#acquireSleeper.wakeAll()
    })
    if (this.#holdsAll) await this.#acquirer.acquire()
    this.#beating = this.#keepBeating()
    this.#offering = this.#offerTaker.run()
    this.#acquiring = this.#keepAcquiring()
  }

  async #stop(): Promise<void> {
    this.#isStopping = true
    this.#acquirer.stop()
    this.#acquireSleeper.cancelAll()
    this.#keepAlive.stop()
    await this.#opening
    await this.#acquiring
    await this.#visitor.stop()
    const until = this.clock.monotonic() + this.#settings.stopMs
    await Promise.all([this.#endOffered(), ...[...this.#shards.values()].map((shard) => shard.stop())])
    await this.#shared.handedAttempts.stop(until)
    this.#offerTaker.stop()
    this.#offeredAttempts.detach()
    this.#reportSender.stop()
    // Heartbeats end only now: they show the new owners that the attempts handed over to this process still run.
    this.#hasStopped = true
    this.#sleeper.cancelAll()
    await this.#beating
    await this.#offering
    this.#inboxClient.stop()
    this.#offWake()
    await this.#membership.leave()
  }

  /** Heartbeats that are rarer than twice a lease would leave gaps: the others would count this instance as gone. */
  get #beatMs(): number {
    const { heartbeatMs, leaseMs, leaseMarginMs } = this.#settings
    return Math.min(heartbeatMs, (leaseMs - leaseMarginMs) / 2)
  }

  async #keepBeating(): Promise<void> {
    const { handedAttempts } = this.#shared
    while (!this.#hasStopped) {
      await this.#sleeper.sleep(this.#beatMs)
      if (!this.#hasStopped) await this.#membership.beat()
      if (handedAttempts.isAny && this.#membership.oldestFiring < HANDS_OVER) await this.#acquirer.seeOwners()
      this.#onMembersRead()
      // An instance whose clock is wrong releases its shards to the others.
      if (!this.#membership.isClockRight && !this.#holdsAll) this.#acquirer.releaseAll()
    }
  }

  /** Starts nothing more that other owners have offered, and waits for what runs. */
  async #endOffered(): Promise<void> {
    const { clock } = this
    const { stopMs, heartbeatMs } = this.#settings
    const isMixed = this.#isStarted && this.#membership.isMixed
    const begunAt = clock.monotonic()
    this.#offeredAttempts.close()
    if (isMixed) await this.#membership.fire(false)
    if (isMixed) this.#shared.offers.announce()
    // Owners that have not heard of it yet may still make offers. They are answered before this instance is gone.
    const least = isMixed && this.#isStopping ? Math.min(heartbeatMs, stopMs) / 4 : 0
    const isBusy = (): boolean => this.#offeredAttempts.running > 0 || !this.#reportSender.isIdle
    for (;;) {
      const passed = clock.monotonic() - begunAt
      if (passed >= stopMs || (passed >= least && !isBusy())) return
      await this.#sleeper.sleep(20)
    }
  }

  /** Tells the other members at once if this instance handles other kinds than before. */
  #publish(): void {
    const { text } = this.#shared.policy.takes()
    if (text === this.#publishedKinds) return
    this.#publishedKinds = text
    void this.#readMembers().then(() => this.#shared.offers.announce())
  }

  async #readMembers(): Promise<void> {
    await this.#membership.hear()
    this.#onMembersRead()
  }

  /** Other members may have come or gone. */
  #onMembersRead(): void {
    const { heardAt } = this.#membership
    this.#shared.offers.onMembersRead()
    this.#offeredAttempts.abandonIfUnheard()
    this.#offeredAttempts.flush()
    for (const shard of this.#shards.values())
      shard.onMembersRead(heardAt, (holder) => this.#membership.isAlive(holder))
    this.#shared.handedAttempts.abandonIfUnheard((shard) => {
      const owner = this.#ownerRouter.ownerId(shard)
      return owner !== '' && this.#membership.versionOf(owner) < HANDS_OVER
    })
  }

  async #keepAcquiring(): Promise<void> {
    while (!this.#isStopping) {
      await this.#acquireSleeper.sleep(this.#settings.acquireMs)
      const { restMs } = this.#acquirer
      if (restMs > 0) await this.#acquireSleeper.sleep(restMs)
      if (!this.#isStopping && (this.#isStarted || this.#holdsAll)) await this.#acquirer.acquire()
    }
  }

  async #acquireForVisit(seen: ShardRow): Promise<ShardEngine | undefined> {
    await this.#acquirer.acquireOne(seen, Math.min(this.#settings.leaseMs, VISIT_LEASE_MS))
    return this.#shards.get(seen.shard)
  }

  #openShard({ seen, row, sentAt, leaseMs }: AcquiredShard): void {
    const { shard, epoch } = row
    const { settings } = this.#shared
    const leaseMarginMs = Math.min(settings.leaseMarginMs, leaseMs / 2)
    const engine = new ShardEngine({
      ...this.#shared,
      settings: leaseMs === settings.leaseMs ? settings : { ...settings, leaseMs, leaseMarginMs },
      row,
      sentAt,
      ownerChange: ownerChangeOf(seen, this.memberId, this.storeNow()),
      onEnd: () => {
        if (this.#shards.get(shard) === engine) this.#shards.delete(shard)
        this.#endedCounts.addAll(engine.counts)
      },
    })
    this.#shards.set(shard, engine)
    this.#shared.onEvent({ type: 'acquired', shard, epoch, isTakeover: seen.owner !== '' })
    engine.open()
    if (this.#isStarted) engine.start()
  }
}

function ownerChangeOf({ epoch, owner }: ShardRow, to: string, at: number): OwnerChange | undefined {
  return epoch === 0 ? undefined : { from: owner === '' ? undefined : owner, to, at }
}
