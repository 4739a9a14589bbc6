import type { Clock } from '../time/index.js'
import type { PlainShare, RequestedOperation, ShardRow, Store } from '../store/index.js'
import type { Answer } from './answer.js'
import { AnswerList } from './answer-list.js'
import { Attempts } from './attempts.js'
import type { OnEvent } from './event.js'
import type { Flow } from './flow.js'
import type { Deliver, Place } from '../timer/index.js'
import { type HandOver, HandOvers } from './hand-over.js'
import { Governor } from './governor.js'
import { Holds } from './holds.js'
import { Inbox } from './inbox.js'
import { Loader } from './loader.js'
import { LostShard, Ownership, type Reading } from './ownership.js'
import { Paces } from './paces.js'
import type { Throttles } from './throttles.js'
import { Waits } from './waits.js'
import { Surplus } from './surplus.js'
import { Sweeping } from './sweeping.js'
import { Settler } from './settler.js'
import type { EngineSettings } from './settings.js'
import { EngineCounts } from './engine-counts.js'
import type { ShardView } from './engine-stats.js'
import type { Unsettled } from './unsettled.js'
import { TransactionSettler } from './transaction-settler.js'
import { Turns } from './turns.js'
import { Window } from './window.js'
import { entryState } from './window-page.js'
import { Writer } from './writer.js'

export interface ShardEngineParts {
  readonly store: Store
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly random: () => number
  readonly deliver: Deliver
  readonly flow: Flow
  /** Shared with the other shards of the instance. */
  readonly throttles: Throttles
  readonly unsettled: Unsettled
  readonly onEvent: OnEvent
  /** About what the store's clock shows, and whether this machine's agrees with it. */
  readonly storeNow: () => number
  readonly isClockRight: () => boolean
  /** The shard as it was claimed, and both clocks before the claim was sent. */
  readonly row: ShardRow
  readonly sentAt: Reading
  /** Undefined when nobody had it before. */
  readonly handOver: HandOver | undefined
  /** It is over, by loss or release. */
  readonly onEnd: () => void
}

/** Of a row that the store still shows: 'over' when all that is left is to settle it. */
export type RowProgress = 'waiting' | 'firing' | 'over'

/**
 * The engine of one shard, from its claim to its release or loss: a composition of named parts that share the
 * window. It writes timers from the beginning, and loads and fires once started.
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
  readonly #surplus: Surplus
  readonly #writer: Writer
  readonly #inbox: Inbox
  readonly #waits: Waits
  readonly #takenAt: number
  #isStopping = false
  #isOver = false
  #stalledFor = 0

  constructor(parts: ShardEngineParts) {
    const { store, clock, settings, random, onEvent, row } = parts
    this.#parts = parts
    this.shard = row.shard
    this.#takenAt = clock.now()
    this.#waits = new Waits(clock)
    const ownership = new Ownership({
      store,
      clock,
      settings,
      random,
      onEvent,
      row,
      sentAt: parts.sentAt,
      onLost: (reason) => this.#lost(reason),
      onLeased: () => this.#attempts.leased(),
      isClockRight: parts.isClockRight,
    })
    const window = new Window(clock.now())
    const holds = new Holds()
    const turns = new Turns()
    const { counts } = this
    const attempts = new Attempts({
      window,
      clock,
      ownership,
      holds,
      deliver: parts.deliver,
      flow: parts.flow,
      throttles: parts.throttles,
      handOvers: new HandOvers(parts.handOver),
      counts,
      onReport: () => this.#settler.noticed(),
      onLooked: () => this.#settler.looked(),
      begin: (attempt) => this.#transactions.begin(attempt),
    })
    const sweeping = new Sweeping({ store, clock, settings, ownership, counts, onEvent })
    const common = { store, clock, settings, ownership, window, attempts, counts, turns, sweeping }
    const governor = new Governor(settings)
    const { lanes } = attempts
    const paces = new Paces(clock, lanes)
    const surplus = new Surplus({ clock, settings, window, governor, lanes, paces })
    const { storeNow, unsettled } = parts
    const settler = new Settler({ ...common, random, onEvent, storeNow, surplus, paces, unsettled })
    const loader = new Loader({ ...common, settler, onEvent, governor, surplus })
    const writer = new Writer({
      ...common,
      holds,
      settler,
      loader,
      hearInbox: () => this.#inbox.hear(),
    })
    settler.connect(loader)
    this.#transactions = new TransactionSettler({ ...common, random, loader })
    this.#ownership = ownership
    this.#window = window
    this.#attempts = attempts
    this.#settler = settler
    this.#loader = loader
    this.#surplus = surplus
    this.#writer = writer
    this.#inbox = new Inbox({ store, clock, settings, ownership, writer })
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

  /** Begins to hold the lease and to write; firing comes with `start`. */
  open(): void {
    this.#own(this.#keepLease())
    this.#own(this.#settler.run())
    this.#own(this.#inbox.run())
  }

  /** Loads and fires from now on. */
  start(): void {
    this.#attempts.start()
    this.#loader.start()
    this.#own(this.#watch())
  }

  /** Answers each; 'lost' and 'unsure' tell that the shard is no longer here. */
  submit(operations: readonly RequestedOperation[]): Promise<readonly Answer[]> {
    if (this.#isOver || this.#isStopping) return Promise.resolve(operations.map(() => ({ outcome: 'lost' })))
    return new Promise((resolve) => {
      this.#writer.submit(operations, new AnswerList(operations.length, resolve))
    })
  }

  /** As `submit`, of plain sets: where all of them are new timers, only the revision of the first. */
  submitPlain(share: PlainShare): Promise<number | readonly Answer[]> {
    const { length } = share.indexes
    if (this.#isOver || this.#isStopping)
      return Promise.resolve(Array.from(share.indexes, () => ({ outcome: 'lost' })))
    return new Promise((resolve) => {
      const answers = new AnswerList(length, resolve)
      const answered = (index: number, answer: Answer): void => answers.answered(index, answer)
      this.#writer.submitPlain(share, { answered, areNew: resolve })
    })
  }

  get queued(): number {
    return this.#writer.queued
  }

  /** How far a row has got that the store still shows. */
  progressOf(place: Place): RowProgress {
    const token = this.#window.find(place)
    if (token < 0) return 'waiting'
    const state = this.#window.state(token)
    if (state === entryState.DONE) return 'over'
    return state === entryState.STARTED || state === entryState.REPORTED ? 'firing' : 'waiting'
  }

  poke(): void {
    this.#inbox.poke()
  }

  /** Whether everything due that somebody handles has been started and has ended. */
  get isCaughtUp(): boolean {
    const { position } = this.#loader.readLevel
    const isRead = position > this.#parts.clock.now() && !this.#surplus.isAnyAway(position)
    return isRead && this.#attempts.running === 0 && !this.#attempts.isAnyStartable && this.#writer.isIdle
  }

  refresh(): void {
    this.#attempts.refresh()
  }

  /** Starts nothing more, waits for what is under way, settles it and lets go of the shard. */
  async stop(): Promise<void> {
    if (this.#isStopping || this.#isOver) return
    this.#isStopping = true
    this.#attempts.halt()
    this.#loader.end()
    this.#inbox.end()
    const { clock, settings } = this.#parts
    const until = clock.monotonic() + settings.stopMs
    while ((this.#attempts.running > 0 || !this.#writer.isIdle) && clock.monotonic() < until) {
      if (this.#isOver) return
      await this.#waits.wait(Math.min(20, settings.settleMs))
    }
    try {
      const grace = Math.min(settings.settleMs, settings.stopMs)
      await this.#settler.settleAll(Math.max(until, clock.monotonic() + grace))
    } catch (error) {
      if (!(error instanceof LostShard)) throw error
    }
    if (this.#isOver) return
    const { epoch } = this
    // What was attempted without the store knowing, whoever comes next must suspect: then it is not let go.
    const isClean = !this.#window.hasUnsettled()
    this.#end()
    if (isClean) await this.#ownership.release()
    this.#parts.onEvent({ type: 'released', shard: this.shard, epoch })
    this.#parts.onEnd()
  }

  /** Ends a part's loop with the shard, and the shard with a loop that fails. */
  #own(loop: Promise<void>): void {
    loop.catch((error: unknown) => {
      if (!(error instanceof LostShard)) this.#ownership.lose(String(error))
    })
  }

  async #keepLease(): Promise<void> {
    const { settings } = this.#parts
    while (!this.#isOver) {
      await this.#waits.wait(this.#ownership.isLeased ? settings.leaseMs / 4 : settings.retryMs)
      if (!this.#isOver) await this.#ownership.renew()
    }
  }

  /** Says so when due timers do not start, and looks again in case a wake was missed. */
  async #watch(): Promise<void> {
    const { clock, settings, onEvent } = this.#parts
    while (!this.#isOver) {
      await this.#waits.wait(settings.stallMs / 4)
      if (this.#isOver || this.#isStopping) return
      this.#attempts.look()
      this.#loader.plan()
      const oldest = this.#attempts.oldestReady()
      const behind = this.#behindMs()
      const overdueMs = Math.max(oldest === undefined ? 0 : clock.now() - oldest.row.dueAt, behind)
      if (overdueMs < settings.stallMs) {
        this.#stalledFor = 0
        continue
      }
      // Once, and then each time it has become twice as long.
      if (overdueMs < this.#stalledFor * 2) continue
      this.#stalledFor = overdueMs
      onEvent({
        type: 'stalled',
        shard: this.shard,
        overdueMs,
        reason: this.#whyStalled(oldest?.row.kind, behind),
      })
    }
  }

  /** Since it took the shard: one that nobody had for a day, or ever, is not a day behind before it is loaded. */
  #behindMs(): number {
    return Math.max(0, this.#parts.clock.now() - Math.max(this.#loader.readLevel.position, this.#takenAt))
  }

  #whyStalled(kind: string | undefined, behindMs: number): string {
    if (!this.#ownership.isLeased) return 'the lease is over and could not be renewed'
    if (kind !== undefined) return `no room to start timers of kind ${kind}: its handlers are busy or missing`
    return `nothing was loaded for ${behindMs} ms: the store does not answer, or memory is full`
  }

  #lost(reason: string): void {
    if (this.#isOver) return
    const { epoch } = this
    this.#end()
    this.#parts.onEvent({ type: 'lost', shard: this.shard, epoch, reason })
    this.#parts.onEnd()
  }

  #end(): void {
    this.#isOver = true
    this.#attempts.end()
    this.#settler.end()
    this.#transactions.end()
    this.#loader.end()
    this.#inbox.end()
    this.#writer.end()
    this.#waits.end()
  }
}
