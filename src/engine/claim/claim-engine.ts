import { StateError } from '../../error/index.js'
import type { SetColumns, RequestedOperation, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { TimerRow } from '../../timer/index.js'
import type { SubmitAnswer } from '../answer.js'
import { checkStrategy } from '../check-strategy.js'
import type { EngineOptions } from '../owner-engine.js'
import { EngineCounts } from '../counts.js'
import type { EngineStats } from '../stats.js'
import { type DeliveryPolicy, unlimitedPolicy } from '../delivery-policy.js'
import { type CallLimit, KeepAlive, Sleeper } from '../../async/index.js'
import { KindFilter } from '../cluster/kind-filter.js'
import { Membership } from '../cluster/membership.js'
import { newNonce } from '../own/ownership.js'
import type { PeerMember } from '../write/peers.js'
import { StartBudget } from '../fire/start-budget.js'
import { StoreClock } from '../cluster/store-clock.js'
import { kindViews } from '../fire/kind-view.js'
import { Throttles } from '../fire/throttles.js'
import { type EngineSettings, engineSettings } from '../settings.js'
import type { RowProgress } from '../shard-engine.js'
import type { TimerEngine } from '../timer-engine.js'
import { ClaimSettler } from './claim-settler.js'
import { ClaimWriter } from './claim-writer.js'
import { Claimer } from './claimer.js'
import { CancelledRows } from './cancelled-rows.js'
import { ClaimedAttempts } from './claimed-attempts.js'
import { ClaimedRows } from './claimed-rows.js'
import { ClaimRenewer } from './claim-renewer.js'
import { RowLeaseWatch } from './row-lease-watch.js'

/**
 * One instance of the engine for the strategy `claim`. It owns no shards: it claims due rows, a bounded batch at a time,
 * and any number of instances may do so at once. If an instance dies, its rows are due again when their claims end, and
 * count one more attempt. The row itself answers a cancel or move.
 *
 * Proven by test/engine/claim.test.ts.
 */
export class ClaimEngine implements TimerEngine {
  readonly #store: Store
  /** The store's clock as far as it is known. */
  readonly clock: Clock
  readonly #settings: EngineSettings
  readonly #throttles: Throttles
  readonly #policy: DeliveryPolicy
  readonly #counts = new EngineCounts()
  readonly #membership: Membership
  readonly #attempts: ClaimedAttempts
  readonly #settler: ClaimSettler
  readonly #renewer: ClaimRenewer
  readonly #leaseWatch: RowLeaseWatch
  readonly #claimer: Claimer
  readonly #writer: ClaimWriter
  readonly #alive: KeepAlive
  readonly #sleeper: Sleeper
  #offWake: () => void = () => undefined
  #opening: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #loops: Promise<void> = Promise.resolve()
  #isStarted = false
  #isStopping = false

  constructor(options: EngineOptions) {
    const { store, clock: machineClock, deliver, random = Math.random } = options
    const time = new StoreClock(machineClock)
    const clock = store.clock === machineClock ? machineClock : time
    const settings = engineSettings(options.settings)
    checkStrategy(store, settings)
    const onEvent = options.onEvent ?? (() => undefined)
    const policy = { ...unlimitedPolicy(settings.concurrency), ...options.policy }
    this.#policy = policy
    const throttles = new Throttles(clock, policy)
    const id = options.memberId ?? newNonce(random).toString(36)
    const address = (): string | undefined => options.peers?.address
    const membership = new Membership({
      id,
      life: '',
      store,
      clock: machineClock,
      time,
      settings,
      onEvent,
      address,
      kinds: () => KindFilter.none,
    })
    const rows = new ClaimedRows()
    const common = {
      store,
      clock,
      machineClock,
      settings,
      onEvent,
      counts: this.#counts,
      policy,
      rows,
      cancelledRows: new CancelledRows(store),
    }
    const settler = new ClaimSettler({ ...common, onFollowUp: (dueAt) => this.#claimer.expect(dueAt) })
    const attempts = new ClaimedAttempts({
      ...common,
      deliver,
      throttles,
      startBudget: new StartBudget(clock),
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
    this.#store = store
    this.clock = clock
    this.#settings = settings
    this.#throttles = throttles
    this.#membership = membership
    this.#attempts = attempts
    this.#settler = settler
    this.#renewer = new ClaimRenewer(common)
    this.#leaseWatch = new RowLeaseWatch({
      ...common,
      isWanted: () => this.#isStarted,
      onCut: () => this.#claimer.poke(),
    })
    this.#claimer = new Claimer({ ...common, throttles, membership, attempts })
    this.#writer = new ClaimWriter({
      ...common,
      storeNow: () => clock.now(),
      onDue: (dueAt) => this.#claimer.expect(dueAt),
    })
    this.#alive = new KeepAlive(clock)
    this.#sleeper = new Sleeper(clock)
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

  /** Instances with this strategy do not publish their kinds, so only this one is known. */
  isHandled(namespace: string, kind: string): boolean {
    return this.#policy.handles(namespace, kind)
  }

  handlersOf(namespace: string, kind: string): readonly string[] {
    return this.isHandled(namespace, kind) ? [this.memberId] : []
  }

  stats(): EngineStats {
    const counts = new EngineCounts()
    counts.addAll(this.#counts)
    return {
      memberId: this.memberId,
      strategy: 'claim',
      shards: [],
      counts,
      clockOffsetMs: this.#membership.clockOffsetMs,
      isClockOff: !this.#membership.isClockRight,
      unowned: [],
      unhandled: [],
      kinds: kindViews(this.#throttles, [], this.storeNow()),
    }
  }

  open(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  async start(): Promise<void> {
    await this.open()
    if (this.#isStarted || this.#isStopping) return
    this.#isStarted = true
    this.#alive.start()
    // A serverless function that slept since its last pass sends a heartbeat before it claims anything.
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
    const until = this.clock.monotonic() + stopMs
    while (this.#attempts.running > 0 && this.clock.monotonic() < until) await this.#sleeper.sleep(2)
    await this.#settler.settleAll(Math.max(until, this.clock.monotonic() + Math.min(settleMs, stopMs)))
    this.#alive.stop()
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

  /** It owns no shards, so other instances cannot ask it for anything. */
  submitFor(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  /** Any process writes rows itself, so there is nothing to wait for. */
  applyAcknowledged(): Promise<void> {
    return Promise.resolve()
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

  progressOf(row: TimerRow): RowProgress {
    return this.#attempts.progressOf(row)
  }

  async submit(
    operations: readonly RequestedOperation[],
    limit?: CallLimit,
  ): Promise<readonly SubmitAnswer[]> {
    if (this.#isStopping) throw new StateError('stopped', 'this instance was stopped: open another')
    return operations.length === 0 ? [] : await this.#writer.submit(operations, limit)
  }

  submitPlain(sets: SetColumns, limit?: CallLimit): Promise<readonly SubmitAnswer[]> {
    return this.submit(sets.operations(), limit)
  }

  async #open(): Promise<void> {
    await this.#membership.join()
    this.#offWake = this.#store.onWake(() => this.#claimer.poke())
    const loops = [this.#keepBeating(), this.#renewer.run(), this.#leaseWatch.run()]
    this.#loops = Promise.all(loops).then(() => undefined)
  }

  async #stop(): Promise<void> {
    this.#isStopping = true
    await this.#opening
    await this.rest()
    await this.#writer.drain()
    this.#sleeper.cancelAll()
    this.#settler.stop()
    this.#renewer.stop()
    this.#leaseWatch.stop()
    this.#offWake()
    await this.#loops
    await this.#membership.leave()
  }

  async #keepBeating(): Promise<void> {
    while (!this.#isStopping) {
      await this.#sleeper.sleep(this.#settings.heartbeatMs)
      if (this.#isStopping) return
      await this.#membership.beat()
      // Attempts that waited because the clock was off may start.
      this.#attempts.refresh()
    }
  }
}
