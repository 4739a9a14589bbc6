import type { Clock } from '../time/index.js'
import type { ShardSetColumns, RequestedOperation, ShardRow, Store } from '../store/index.js'
import type { Answer } from './answer.js'
import { AnswerList } from './write/answer-list.js'
import { Attempts } from './fire/attempts.js'
import type { OnEvent } from './event.js'
import type { DeliveryPolicy } from './delivery-policy.js'
import type { Deliver, Holder, Place, TimerName } from '../timer/index.js'
import { type OwnerChange, OwnerChanges } from './own/owner-change.js'
import { Governor } from './load/governor.js'
import type { HandedOverAttempts } from './own/handed-over-attempts.js'
import type { Offers } from './offer/offers.js'
import { ShardOffers } from './offer/shard-offers.js'
import { HeldAttempts } from './fire/held-attempts.js'
import { OutcomeQueue } from './settle/outcome-queue.js'
import { HandedOverReports } from './settle/handed-over-reports.js'
import { StartHolds } from './write/start-holds.js'
import { InboxHolds } from './write/inbox-holds.js'
import { Inbox } from './write/inbox.js'
import { loadPolicyOf } from './load/load-policy.js'
import { Loader } from './load/loader.js'
import { LostShardError } from './own/call-errors.js'
import { Ownership, type Reading } from './own/ownership.js'
import type { Lane } from './fire/lane.js'
import { LaneThroughput } from './fire/lane-throughput.js'
import type { StartBudget } from './fire/start-budget.js'
import type { Throttles } from './fire/throttles.js'
import { type CallLimit, Mutex, Sleeper } from '../async/index.js'
import { PutBack } from './load/put-back.js'
import { SweepPlanner } from './settle/sweep-planner.js'
import { FollowUpPace } from './settle/follow-up-pace.js'
import { SettleSignal } from './settle/settle-signal.js'
import { Settler } from './settle/settler.js'
import type { EngineSettings } from './settings.js'
import { EngineCounts } from './counts.js'
import type { ShardView } from './stats.js'
import type { SettleBacklog } from './settle/settle-backlog.js'
import { TransactionSettler } from './settle/transaction-settler.js'
import { Window } from './load/window.js'
import { entryState } from './load/window-page.js'
import { Writer } from './write/writer.js'

export interface ShardEngineParts {
  readonly store: Store
  /** The store's clock as far as it is known, and this machine's own. */
  readonly clock: Clock
  readonly machineClock: Clock
  readonly settings: EngineSettings
  readonly random: () => number
  readonly deliver: Deliver
  readonly policy: DeliveryPolicy
  /** Shared with the other shards of the instance. */
  readonly throttles: Throttles
  readonly startBudget: StartBudget
  readonly backlog: SettleBacklog
  readonly onEvent: OnEvent
  /** Whether this machine's clock agrees with the store's. */
  readonly isClockRight: () => boolean
  /** The shard row as it was acquired, and what both clocks showed before it was asked for. */
  readonly row: ShardRow
  readonly sentAt: Reading
  /** Undefined if nobody owned the shard before. */
  readonly ownerChange: OwnerChange | undefined
  /** Attempts that go on here after their shard was released. */
  readonly handedAttempts: HandedOverAttempts
  /** Offers of due timers to other members; shared with the other shards of the instance. */
  readonly offers: Offers
  /** The shard was lost or released. */
  readonly onEnd: () => void
}

/** How far a row has got that the store still has. 'over' means that it only has to be settled. */
export type RowProgress = 'waiting' | 'firing' | 'over'

/**
 * The engine of one shard, from its acquisition to its release or loss. It puts the parts of the shard together and
 * starts and stops them. It writes timers from the beginning, and loads and fires once it is started.
 *
 * Proven by test/engine/engine.test.ts, test/engine/rebalance.test.ts and the mutants 'a shard is released with unsettled outcomes', 'due timers do not start while a shard is released'.
 */
export class ShardEngine {
  readonly shard: number
  readonly counts = new EngineCounts()
  readonly #parts: ShardEngineParts
  readonly #ownership: Ownership
  readonly #window: Window
  readonly #attempts: Attempts
  readonly #settler: Settler
  readonly #transactions: TransactionSettler
  readonly #loader: Loader
  readonly #heldAttempts: HeldAttempts
  readonly #offers: ShardOffers
  readonly #signal: SettleSignal
  readonly #putBack: PutBack
  readonly #writer: Writer
  readonly #inbox: Inbox
  readonly #inboxHolds: InboxHolds
  readonly #sleeper: Sleeper
  readonly #acquiredAt: number
  #isStarted = false
  #isHandingOver = false
  #isLevelAhead = false
  #leaving: Promise<void> | undefined
  #isOver = false
  #stalledFor = 0

  constructor(parts: ShardEngineParts) {
    const { store, clock, settings, random, onEvent, row } = parts
    this.#parts = parts
    this.shard = row.shard
    this.#acquiredAt = clock.now()
    this.#sleeper = new Sleeper(clock)
    const ownership = new Ownership({
      store,
      clock: parts.machineClock,
      storeClock: clock,
      settings,
      random,
      onEvent,
      row,
      sentAt: parts.sentAt,
      onLost: (reason) => this.#lost(reason),
      onLeased: () => this.#attempts.onLeased(),
      isClockRight: parts.isClockRight,
    })
    const window = new Window(clock.now())
    const startHolds = new StartHolds()
    const mutex = new Mutex()
    const { counts } = this
    const signal = new SettleSignal(clock)
    const pace = new FollowUpPace(clock, settings.settleMs)
    const outcomes = new OutcomeQueue({
      clock,
      counts,
      policy: parts.policy,
      ownerChanges: new OwnerChanges(parts.ownerChange),
      backlog: parts.backlog,
      signal,
      pace,
    })
    const offers = new ShardOffers({ clock, window, offers: parts.offers })
    const onHeld = (): void => this.#inbox.onHeldRow()
    const heldAttempts = new HeldAttempts({ window, clock, outcomes, offers, onHeld })
    const attempts = new Attempts({
      ...parts,
      window,
      ownership,
      startHolds,
      counts,
      outcomes,
      heldAttempts,
      onDueStarted: () => {
        if (this.#putBack.isUrgent || offers.isAnyWaiting(this.#attempts.lanes)) signal.raise()
      },
      begin: (attempt) => this.#transactions.begin(attempt),
    })
    const sweepPlanner = new SweepPlanner({ store, clock, settings, ownership, counts, onEvent, signal })
    const common = {
      store,
      clock,
      settings,
      random,
      onEvent,
      ownership,
      window,
      attempts,
      counts,
      mutex,
      sweepPlanner,
      outcomes,
      heldAttempts,
      signal,
      pace,
      offers,
    }
    const governor = new Governor(settings)
    const loadPolicy = loadPolicyOf(settings, clock, governor)
    const { lanes } = attempts
    const throughput = new LaneThroughput(clock, lanes)
    const putBack = new PutBack({
      clock,
      settings,
      window,
      governor,
      loadPolicy,
      lanes,
      throughput,
      offers,
    })
    const loader = new Loader({ ...common, governor, loadPolicy, putBack })
    const settler = new Settler({ ...common, putBack, throughput, loadPolicy, loader })
    const inboxHolds = new InboxHolds({ ...common, startHolds })
    const writer = new Writer({
      ...common,
      startHolds,
      inboxHolds,
      settler,
      loader,
      applyInbox: () => this.#inbox.applyAll(),
    })
    this.#transactions = new TransactionSettler({ ...common, loader })
    this.#ownership = ownership
    this.#window = window
    this.#attempts = attempts
    this.#heldAttempts = heldAttempts
    this.#offers = offers
    this.#signal = signal
    this.#settler = settler
    this.#loader = loader
    this.#putBack = putBack
    this.#writer = writer
    const reports = new HandedOverReports({ ...common, settler })
    this.#inboxHolds = inboxHolds
    this.#inbox = new Inbox({ store, clock, settings, ownership, mutex, writer, reports, inboxHolds })
  }

  get epoch(): number {
    return this.#ownership.epoch
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get view(): ShardView {
    return {
      shard: this.shard,
      epoch: this.epoch,
      inMemory: this.#window.size,
      bytes: this.#window.bytes,
      inFlight: this.#attempts.running,
      queued: this.#writer.queued,
      windowMs: this.#loader.windowMs,
      readPosition: this.#loader.readLevel.position,
      behindMs: this.#behindMs(),
      nextLoadAt: this.#loader.nextLoadAt,
      settledPosition: this.#ownership.settledLevel.position,
      isLeased: this.#ownership.isLeased,
    }
  }

  /** Keeps the lease and writes from now on. It fires once `start` is called. */
  open(): void {
    this.#own(this.#keepLease())
    this.#own(this.#settler.run())
    this.#own(this.#inbox.run())
  }

  /**
   * Loads and fires from now on. What waits in the inbox comes first: it may replace, move or cancel what is due
   * (promise 16).
   */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#own(this.#fireAfterInbox())
  }

  async #fireAfterInbox(): Promise<void> {
    const isApplied = await this.#inbox.applyAll()
    if (!isApplied) return
    this.#attempts.start()
    this.#loader.start()
    await this.#watch()
  }

  /** One answer for each operation. 'lost' and 'unsure' mean that the shard is no longer here. */
  submit(operations: readonly RequestedOperation[], limit?: CallLimit): Promise<readonly Answer[]> {
    if (this.#isOver || this.#leaving !== undefined)
      return Promise.resolve(operations.map(() => ({ outcome: 'lost' })))
    return new Promise((resolve) => {
      this.#writer.submit(operations, new AnswerList(operations.length, resolve), [], limit)
    })
  }

  /** As `submit`, of plain sets. If all of them are new timers, answers only the revision of the first. */
  submitPlain(columns: ShardSetColumns, limit?: CallLimit): Promise<number | readonly Answer[]> {
    const { length } = columns.indexes
    if (this.#isOver || this.#leaving !== undefined)
      return Promise.resolve(Array.from(columns.indexes, () => ({ outcome: 'lost' })))
    return new Promise((resolve) => {
      const answers = new AnswerList(length, resolve)
      const answered = (index: number, answer: Answer): void => answers.answered(index, answer)
      this.#writer.submitPlain(columns, { answered, areNew: resolve }, limit)
    })
  }

  get queued(): number {
    return this.#writer.queued
  }

  /** How far a row has got that the store still has. */
  progressOf(place: Place): RowProgress {
    const token = this.#window.find(place)
    if (token < 0) return 'waiting'
    const state = this.#window.state(token)
    if (state === entryState.DONE) return 'over'
    const { STARTED, REPORTED, HELD } = entryState
    return state === STARTED || state === REPORTED || state === HELD ? 'firing' : 'waiting'
  }

  /** Resolves when all that is in the inbox now is applied; with false if the shard was lost before that. */
  applyInbox(): Promise<boolean> {
    return this.#inbox.applyAll()
  }

  poke(): void {
    this.#inbox.poke()
  }

  /** Whether everything that is due and has a handler has been started and has ended. */
  get isCaughtUp(): boolean {
    const { position } = this.#loader.readLevel
    const isRead =
      position > this.#parts.clock.now() && !this.#loader.isAnyLate && !this.#putBack.isAnyAway(position)
    return isRead && this.#attempts.running === 0 && !this.#attempts.isAnyStartable && this.#writer.isIdle
  }

  refresh(): void {
    this.#attempts.refresh()
  }

  /** The members were read at `readAt`. Attempts whose holder is gone and has not reported are tried again. */
  onMembersRead(readAt: number, isAlive: (holder: Holder) => boolean): void {
    if (this.#isOver) return
    if (this.#heldAttempts.findOrphans(readAt, isAlive)) this.#inbox.poke()
    if (this.#offers.isAnyWaiting(this.#attempts.lanes)) this.#signal.raise()
  }

  /** The lanes in which due timers wait. */
  get lanes(): Iterable<Lane> {
    return this.#attempts.lanes
  }

  /**
   * Releases the shard for another member. It goes on firing while attempts under way get time to end. Attempts that do
   * not end in time are handed over with the shard and go on in this process.
   */
  async handOver(): Promise<void> {
    if (this.#isHandingOver || this.#leaving !== undefined || this.#isOver) return
    this.#isHandingOver = true
    const { clock, settings } = this.#parts
    const until = clock.monotonic() + settings.stopMs
    const underWay = [...this.#attempts.started]
    while (underWay.some(({ outcome }) => outcome === undefined) && clock.monotonic() < until) {
      await this.#sleeper.sleep(Math.min(20, settings.settleMs))
      if (!this.#isHandingOver || this.#leaving !== undefined || this.#isOver) return
    }
    this.#leaving = this.#handOver()
    await this.#leaving
  }

  async #handOver(): Promise<void> {
    await this.#waitUntil(() => this.#writer.isIdle)
    await this.#settleAndRelease(this.#parts.handedAttempts.holder)
  }

  /** Takes `handOver` back if it has not begun to release the shard. */
  keep(): void {
    this.#isHandingOver = false
  }

  /** Starts nothing more, waits for attempts under way, settles them and releases the shard. */
  stop(): Promise<void> {
    this.#leaving ??= this.#finish()
    return this.#leaving
  }

  /** Releases a shard that was taken only to apply its inbox. The next owner applies what is left of it. */
  endVisit(): Promise<void> {
    this.#inbox.stop()
    this.#writer.leaveRequests()
    return this.stop()
  }

  async #finish(): Promise<void> {
    this.#attempts.halt()
    await this.#waitUntil(() => this.#attempts.running === 0 && this.#writer.isIdle)
    await this.#settleAndRelease()
  }

  /** Waits until `isIdle`, for at most `stopMs`. */
  async #waitUntil(isIdle: () => boolean): Promise<void> {
    const { clock, settings } = this.#parts
    const until = clock.monotonic() + settings.stopMs
    while (!isIdle() && !this.#isOver && clock.monotonic() < until) {
      await this.#sleeper.sleep(Math.min(20, settings.settleMs))
    }
  }

  /** Settles attempts that have ended, hands the others over to the holder, if any, and releases the shard. */
  async #settleAndRelease(holder?: Holder): Promise<void> {
    if (this.#isOver) return
    this.#attempts.halt()
    this.#loader.stop()
    this.#inbox.stop()
    const { clock, settings, onEvent } = this.#parts
    try {
      const graceMs = holder === undefined ? Math.min(settings.settleMs, settings.stopMs) : settings.stopMs
      await this.#settler.settleAll(clock.monotonic() + graceMs, holder)
    } catch (error) {
      if (!(error instanceof LostShardError)) throw error
    }
    if (this.#isOver) return
    const { epoch } = this
    // The next owner must suspect attempts that the store does not know of, so the shard is not released with them.
    const isClean = !this.#window.hasUnsettled()
    this.#stopParts()
    if (isClean) {
      await this.#ownership.release()
      // The next owner need not wait until it reads the shards again.
      this.#parts.store.wake(this.shard)
      onEvent({ type: 'released', shard: this.shard, epoch })
    } else {
      const reason = 'attempts are not settled: the next owner waits for the end of the lease'
      onEvent({ type: 'lost', shard: this.shard, epoch, reason })
    }
    this.#parts.onEnd()
  }

  /** A loop of a part ends with the shard. If the loop fails, the shard is lost. */
  #own(loop: Promise<void>): void {
    loop.catch((error: unknown) => {
      if (!(error instanceof LostShardError)) this.#ownership.lose(String(error))
    })
  }

  async #keepLease(): Promise<void> {
    const { settings } = this.#parts
    while (!this.#isOver) {
      await this.#sleeper.sleep(this.#ownership.isLeased ? settings.leaseMs / 4 : settings.retryMs)
      if (!this.#isOver) await this.#ownership.renew()
    }
  }

  /** Reports due timers that do not start, and starts them in case a wake-up was missed. */
  async #watch(): Promise<void> {
    const { clock, settings, onEvent } = this.#parts
    while (!this.#isOver) {
      await this.#sleeper.sleep(settings.stallMs / 4)
      if (this.#isOver || this.#leaving !== undefined) return
      this.#attempts.startDue()
      this.#loader.loadIfDue()
      const aheadMs = this.#ownership.settledLevel.position - clock.now()
      if (aheadMs > settings.maxClockOffsetMs && !this.#isLevelAhead)
        onEvent({ type: 'level-ahead', shard: this.shard, aheadMs })
      this.#isLevelAhead = aheadMs > settings.maxClockOffsetMs
      const oldest = this.#attempts.oldestReady()
      const behind = this.#behindMs()
      const overdueMs = Math.max(oldest === undefined ? 0 : clock.now() - oldest.row.dueAt, behind)
      if (overdueMs < settings.stallMs) {
        this.#stalledFor = 0
        continue
      }
      // Reported once, and again each time it has become twice as long.
      if (overdueMs < this.#stalledFor * 2) continue
      this.#stalledFor = overdueMs
      onEvent({
        type: 'stalled',
        shard: this.shard,
        overdueMs,
        reason: this.#whyStalled(oldest?.row, behind),
      })
    }
  }

  /** Counted from the acquisition: a shard that nobody owned for a day is not a day behind before it is loaded. */
  #behindMs(): number {
    return Math.max(0, this.#parts.clock.now() - Math.max(this.#loader.readLevel.position, this.#acquiredAt))
  }

  #whyStalled(oldest: TimerName | undefined, behindMs: number): string {
    if (!this.#ownership.isLeased) return 'the lease is over and could not be renewed'
    if (oldest !== undefined) {
      const { namespace, kind } = oldest
      return this.#parts.offers.isHandled(namespace, kind)
        ? `no room to start timers of kind ${kind}: its handlers are busy or paused`
        : `no instance handles kind ${kind} of namespace ${namespace}`
    }
    return `nothing was loaded for ${behindMs} ms: the store does not answer, or memory is full`
  }

  #lost(reason: string): void {
    if (this.#isOver) return
    const { epoch } = this
    this.#stopParts()
    this.#parts.onEvent({ type: 'lost', shard: this.shard, epoch, reason })
    this.#parts.onEnd()
  }

  #stopParts(): void {
    this.#isOver = true
    this.#attempts.abandonAll()
    this.#settler.stop()
    this.#transactions.stop()
    this.#loader.stop()
    this.#inbox.stop()
    this.#inboxHolds.stop()
    this.#writer.stop()
    this.#offers.stop()
    this.#sleeper.cancelAll()
  }
}
