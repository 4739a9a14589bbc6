import { StateError } from '../../error/index.js'
import type { PlainSets, RequestedOperation, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { TimerRow } from '../../timer/index.js'
import type { SubmitAnswer } from '../answer.js'
import { checkStrategy } from '../check-strategy.js'
import type { EngineOptions } from '../engine.js'
import { EngineCounts } from '../engine-counts.js'
import type { EngineStats } from '../engine-stats.js'
import { freeFlow } from '../flow.js'
import { KeepAlive } from '../keep-alive.js'
import { Membership } from '../membership.js'
import { newNonce } from '../ownership.js'
import type { PeerMember } from '../peers.js'
import { Throttles } from '../throttles.js'
import { type EngineSettings, engineSettings } from '../settings.js'
import type { RowProgress } from '../shard-engine.js'
import type { TimerEngine } from '../timer-engine.js'
import { Waits } from '../waits.js'
import { ClaimSettler } from './claim-settler.js'
import { ClaimWriter } from './claim-writer.js'
import { Claimer } from './claimer.js'
import { LeasedAttempts } from './leased-attempts.js'
import { LeaseKeeper } from './lease-keeper.js'

/**
 * One instance of the strategy `claim`: it owns nothing, but leases rows that are due, a bounded batch at a time,
 * and any number of instances may do so at once. A row whose holder died comes back when its lease ends, and counts
 * an attempt more. Cancel and move are answered by the row itself.
 */
export class ClaimEngine implements TimerEngine {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #throttles: Throttles
  readonly #counts = new EngineCounts()
  readonly #membership: Membership
  readonly #attempts: LeasedAttempts
  readonly #settler: ClaimSettler
  readonly #keeper: LeaseKeeper
  readonly #claimer: Claimer
  readonly #writer: ClaimWriter
  readonly #alive: KeepAlive
  readonly #waits: Waits
  #offWake: () => void = () => undefined
  #opening: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #loops: Promise<void> = Promise.resolve()
  #isStarted = false
  #isStopping = false

  constructor(options: EngineOptions) {
    const { store, clock, deliver, random = Math.random } = options
    const settings = engineSettings(options.settings)
    checkStrategy(store, settings)
    const onEvent = options.onEvent ?? (() => undefined)
    const flow = { ...freeFlow(settings.concurrency), ...options.flow }
    const throttles = new Throttles(clock, flow)
    const id = options.memberId ?? newNonce(random).toString(36)
    const address = (): string | undefined => options.peers?.address
    const membership = new Membership({ id, store, clock, settings, onEvent, address })
    const common = { store, clock, settings, onEvent, counts: this.#counts }
    const settler = new ClaimSettler({ ...common, onFollowUp: (dueAt) => this.#claimer.expect(dueAt) })
    const attempts = new LeasedAttempts({
      ...common,
      deliver,
      flow,
      throttles,
      memberId: id,
      isClockRight: () => membership.isClockRight,
      listener: {
        ended: (attempt, outcome) => {
          settler.ended(attempt, outcome)
          this.#claimer.noticeRoom()
        },
        begin: (attempt) => settler.begin(attempt),
        noted: (entries) => settler.noted(entries),
      },
    })
    settler.connect(attempts)
    this.#store = store
    this.#clock = clock
    this.#settings = settings
    this.#throttles = throttles
    this.#membership = membership
    this.#attempts = attempts
    this.#settler = settler
    this.#keeper = new LeaseKeeper({ ...common, attempts })
    this.#claimer = new Claimer({ ...common, flow, throttles, membership, attempts })
    this.#writer = new ClaimWriter({
      ...common,
      storeNow: () => membership.storeNow(),
      onDue: (dueAt) => this.#claimer.expect(dueAt),
    })
    this.#alive = new KeepAlive(clock)
    this.#waits = new Waits(clock)
  }

  get settings(): EngineSettings {
    return this.#settings
  }

  get memberId(): string {
    return this.#membership.id
  }

  get memberIds(): readonly string[] {
    return this.#membership.firingIds
  }

  stats(): EngineStats {
    const counts = new EngineCounts()
    counts.addAll(this.#counts)
    return { memberId: this.memberId, strategy: 'claim', shards: [], counts }
  }

  open(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  async start(): Promise<void> {
    await this.open()
    if (this.#isStarted || this.#isStopping) return
    this.#isStarted = true
    this.#alive.begin()
    // A function that slept since its last pass is heard of again before it claims anything.
    if (!this.#membership.isFit) await this.#membership.beat()
    this.#attempts.open()
    this.#claimer.start()
  }

  get transactionCapacity(): number {
    return this.#store.transactions?.capacity ?? 0
  }

  get isCaughtUp(): boolean {
    const isIdle = this.#settler.isIdle && this.#writer.isIdle
    return this.#isStarted && this.#claimer.isDry && this.#attempts.running === 0 && isIdle
  }

  async rest(): Promise<void> {
    this.#isStarted = false
    await this.#claimer.stop()
    this.#settler.release(this.#attempts.close())
    const { stopMs, settleMs } = this.#settings
    const until = this.#clock.monotonic() + stopMs
    while (this.#attempts.running > 0 && this.#clock.monotonic() < until) await this.#waits.wait(2)
    await this.#settler.settleAll(Math.max(until, this.#clock.monotonic() + Math.min(settleMs, stopMs)))
    this.#alive.end()
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  refresh(): void {
    this.#throttles.refresh()
    this.#attempts.refresh()
    this.#claimer.poke()
  }

  refreshKind(namespace: string, kind: string): void {
    this.#throttles.refreshKind(namespace, kind)
    this.#attempts.refresh()
    this.#claimer.poke()
  }

  /** It owns no shards that others could ask it for. */
  submitFor(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  storeNow(): number {
    return this.#membership.storeNow()
  }

  hearMembers(): Promise<void> {
    return this.#membership.hear()
  }

  peerOf(memberId: string): PeerMember | undefined {
    return this.#membership.peerOf(memberId)
  }

  progressOf(row: TimerRow): RowProgress {
    return this.#attempts.progressOf(row)
  }

  async submit(operations: readonly RequestedOperation[]): Promise<readonly SubmitAnswer[]> {
    if (this.#isStopping) throw new StateError('stopped', 'this instance was stopped: open another')
    return operations.length === 0 ? [] : await this.#writer.submit(operations)
  }

  submitPlain(sets: PlainSets): Promise<readonly SubmitAnswer[]> {
    return this.submit(sets.operations())
  }

  async #open(): Promise<void> {
    await this.#membership.join()
    this.#offWake = this.#store.onWake(() => this.#claimer.poke())
    this.#loops = Promise.all([this.#keepBeating(), this.#keeper.run()]).then(() => undefined)
  }

  async #stop(): Promise<void> {
    this.#isStopping = true
    await this.#opening
    await this.rest()
    await this.#writer.end()
    this.#waits.end()
    this.#settler.end()
    this.#keeper.end()
    this.#offWake()
    await this.#loops
    await this.#membership.leave()
  }

  async #keepBeating(): Promise<void> {
    while (!this.#isStopping) {
      await this.#waits.wait(this.#settings.heartbeatMs)
      if (this.#isStopping) return
      await this.#membership.beat()
      // What had to wait because the clock was off may start.
      this.#attempts.refresh()
    }
  }
}
