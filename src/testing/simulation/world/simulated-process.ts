import { type OwnerEngine, type EngineOptions, KindFilter } from '../../../engine/index.js'
import { shown, StoreError } from '../../../error/index.js'
import type { MemoryStore, Store } from '../../../store/index.js'
import type { VirtualClock } from '../../../time/index.js'
import type { TimerName, TimerRow } from '../../../timer/index.js'
import { type Commit, commitOf, isWatched } from '../check/commit.js'
import { commitText } from '../check/commit-text.js'
import { FaultyCarriage, type ObserveCall } from './faulty-carriage.js'
import type { Measured } from '../check/firing-check.js'
import { Gate } from './gate.js'
import { GatedClock } from './gated-clock.js'
import { LeaseBook, type Reading } from '../check/lease-book.js'
import { Random } from '../../random.js'
import { type SimulatedKind, simulatedKinds } from '../plan/operation.js'
import { namespace } from '../check/store-inspector.js'
import type { Handler } from './receiver.js'
import type { World } from './world.js'

/** What a simulation needs from an engine. */
export interface SimulatedEngine
  extends
    Pick<OwnerEngine, 'open' | 'start' | 'stop' | 'submit'>,
    Partial<Pick<OwnerEngine, 'submitPlain' | 'applyAcknowledged'>> {
  /** Called when the concurrency of kinds has changed. */
  refresh?(): void
  /** How many timers it has in memory for each shard, if it can tell. */
  readonly shards?: readonly { readonly view: { readonly inMemory: number } }[]
}

const MAX_SANE_MS = 1000
// An engine may compare a new measure of the store's clock with the two before it.
const MEASURES = 3

export type MakeEngine = (options: EngineOptions) => SimulatedEngine

/**
 * One process with an engine in it: its own memory, its machine's clock, its own connection to the store. After a crash
 * it gets no more answers; the calls that it sent may still happen.
 */
export class SimulatedProcess implements Handler {
  readonly number: number
  readonly instance: number
  readonly member: string
  readonly gate: Gate
  readonly clock: GatedClock
  readonly leases: LeaseBook
  readonly engine: SimulatedEngine
  readonly #world: World
  readonly #carriage: FaultyCarriage
  readonly #client: MemoryStore
  readonly #store: Store
  /** It accepts operations: from `open` until it stops or crashes. */
  isOpen = false
  isStopping = false
  isSilent = false
  measures: readonly Measured[] = []
  /** When something was wrong with it, in true milliseconds since the run began. */
  readonly #disturbances: { readonly from: number; readonly to: number }[] = []
  /** When each call was sent that has no answer yet, in the same time. */
  readonly #unanswered = new Set<{ readonly sentAt: number }>()

  constructor(
    world: World,
    machine: { readonly instance: number; readonly clock: VirtualClock },
    identity: { readonly number: number; readonly member: string },
    makeEngine: MakeEngine,
  ) {
    this.#world = world
    this.number = identity.number
    this.member = identity.member
    this.instance = machine.instance
    this.gate = new Gate(world.clock, (error) => this.#threw(error))
    this.clock = new GatedClock(machine.clock, this.gate)
    this.leases = new LeaseBook(world.clock, this.clock, world.plan.settings.leaseMarginMs)
    const { clock, chaos, plan } = world
    const stream = 100 + this.number
    this.#carriage = new FaultyCarriage(
      { clock, gate: this.gate, chaos, observe: this.#observe },
      this.instance,
      new Random(plan.seed, stream),
    )
    this.#client = world.store.connect(this.#carriage)
    this.#store = this.#storeWithArguments()
    this.engine = makeEngine({
      store: this.#store,
      clock: this.clock,
      deliver: (firings) => {
        if (this.isSilent) world.journal.violated('face', `${this.member} fires after it stopped`)
        world.receiver.deliver(firings, this)
      },
      random: new Random(plan.seed, stream + 10_000).fraction,
      memberId: this.member,
      settings: plan.settings,
      policy: {
        concurrencyOf: (_namespace, kind) =>
          !this.handles(kind) || chaos.isClosed(this.instance, kind) ? 0 : plan.settings.concurrency,
        handles: (_namespace, kind) => this.handles(kind),
        takes: () => this.#takes(),
      },
      onEvent: (event) => {
        world.journal.count(event.type)
        world.journal.log(
          this.member,
          () =>
            `event ${JSON.stringify(event, (_key, value: unknown) => (value instanceof Error ? value.message : value))}`,
        )
      },
    })
  }

  /** Reads a timer as the front door does; undefined if the engine cannot. */
  async read(name: TimerName): Promise<TimerRow | undefined> {
    await this.engine.applyAcknowledged?.([name])
    return (await this.#store.find([name]))[0]
  }

  handles(kind: string): boolean {
    return this.#kinds.some((handled) => handled === kind)
  }

  get #kinds(): readonly SimulatedKind[] {
    return this.#world.plan.instances[this.instance]!.kinds
  }

  #takes(): KindFilter {
    const { chaos } = this.#world
    if (this.#kinds.length === simulatedKinds.length) return KindFilter.all
    const only = this.#kinds.filter((kind) => !chaos.isClosed(this.instance, kind))
    return KindFilter.of([{ namespace, only }])
  }

  /** Its machine's time, or true time if that is far off, so that timers set here are due within the run. */
  plannedNow(): number {
    const now = this.clock.now()
    const trueNow = this.#world.clock.now()
    return Math.abs(now - trueNow) <= MAX_SANE_MS ? now : trueNow
  }

  get isAlive(): boolean {
    return !this.gate.isShut && !this.isSilent
  }

  isDisturbedBetween(from: number, to: number): boolean {
    if (this.#disturbances.some((disturbance) => disturbance.to >= from && disturbance.from <= to))
      return true
    // A lost call may end with an error only after the shard was taken over.
    return [...this.#unanswered].some(({ sentAt }) => to - sentAt > this.#longestCallMs)
  }

  /** A call that takes longer means that something is wrong with the connection. */
  get #longestCallMs(): number {
    return this.#world.plan.settings.leaseMs / 4
  }

  disturb(forMs = 0): void {
    const { at } = this.#world.journal
    this.#disturbances.push({ from: at, to: at + forMs })
  }

  get aheadMs(): number {
    return this.gate.aheadMs
  }

  /** The store lost power: calls of this process that it has not answered did not happen. */
  losePower(): void {
    this.#carriage.losePower()
  }

  crash(sent: 'commits' | 'is-lost' | 'commits-late'): void {
    this.isOpen = false
    this.disturb()
    this.gate.shut()
    this.#carriage.abandon(sent)
    void this.#client.stop()
  }

  /** It stopped in good order. From now on it must not fire. */
  markStopped(): void {
    this.isOpen = false
    this.isSilent = true
  }

  #threw(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : shownError(error)
    this.#world.journal.violated('face', `${this.member} threw: ${text}`)
  }

  /** The store, wrapped so that the carriage gets the arguments of each call. */
  #storeWithArguments(): Store {
    const wrapped = new Map<string | symbol, unknown>()
    return new Proxy<Store>(this.#client, {
      get: (client, name) => {
        const known = wrapped.get(name)
        if (known !== undefined) return known
        const member: unknown = Reflect.get(client, name, client)
        if (typeof member !== 'function') return member
        const method = (...args: unknown[]): unknown => {
          this.#carriage.args = args
          return Reflect.apply(member, client, args)
        }
        wrapped.set(name, method)
        return method
      },
    })
  }

  readonly #observe: ObserveCall = (name, args) => {
    const { inspector, journal } = this.#world
    const sent = this.leases.reading()
    let committedAt = 0
    let seen: Commit | undefined
    const flight = { sentAt: journal.at + this.aheadMs }
    this.#unanswered.add(flight)
    this.#checkClaim(name, args)
    this.leases.noteSend(name, args)
    return {
      commit: (commit) => {
        journal.count('calls')
        committedAt = this.#world.clock.monotonic()
        try {
          if (!isWatched(name)) return commit()
          const before = inspector.shards()
          const answer = commit()
          seen = commitOf(name, args, answer, before, inspector.shards())
          this.#checkCommit(seen)
          return answer
        } catch (error) {
          journal.log(this.member, () => `${name} is refused: ${shownError(error)}`)
          throw error
        }
      },
      answered: (error) => {
        this.#unanswered.delete(flight)
        const disturbed = { from: flight.sentAt, to: journal.at }
        if (error !== undefined) {
          journal.log(this.member, () => `gets from ${name}: ${shownError(error)}`)
          this.leases.noteError(name, args, error)
          if (!isRefusal(error)) this.#disturbances.push(disturbed)
        } else if (seen !== undefined) {
          this.leases.noteAnswer(seen, sent)
          if (seen.name === 'heartbeat') this.#measure(seen.answer.now, sent, committedAt)
          if (this.clock.monotonic() - sent.monotonic > this.#longestCallMs)
            this.#disturbances.push(disturbed)
          const fence = seen.name === 'write' ? seen.args[0] : undefined
          if (fence !== undefined) this.#world.ledger.noteAnsweredWrite(this.number, fence.shard)
        }
      },
    }
  }

  #measure(storeNow: number, sent: Reading, committedAt: number): void {
    const now = this.leases.reading()
    const halfWayMs = (now.monotonic - sent.monotonic) / 2
    const offsetMs = storeNow - (now.wall - halfWayMs)
    const measured = { at: committedAt, tookMs: 2 * halfWayMs, offByMs: Math.abs(offsetMs) - halfWayMs }
    this.measures = [...this.measures.slice(1 - MEASURES), measured]
  }

  /** An unanswered claim must be sent again with its nonce: the store may have granted it already. */
  #checkClaim(name: string, args: readonly unknown[]): void {
    if (name !== 'acquire') return
    const { shard, nonce } = args[0] as { readonly shard: number; readonly nonce: number }
    const { owner, nonce: granted } = this.#world.inspector.shards()[shard]!
    if (owner !== this.member || granted === nonce || granted !== this.leases.unansweredClaim(shard)) return
    this.#world.journal.violated(
      15,
      `${this.member} claims shard ${shard} with a new nonce, although its unanswered claim was granted`,
    )
  }

  #checkMemory(): void {
    const { maxTimers } = this.#world.plan.settings
    // A load and a write that are on their way at once do not count each other.
    const most = maxTimers + Math.max(3, Math.ceil(maxTimers / 4))
    for (const { view } of this.isAlive ? (this.engine.shards ?? []) : []) {
      if (view.inMemory <= most) continue
      this.#world.journal.violated(
        14,
        `${this.member} has ${view.inMemory} timers in memory; ${maxTimers} are allowed`,
      )
    }
  }

  #checkCommit(commit: Commit): void {
    const { ledger, shardCheck, journal } = this.#world
    journal.log(this.member, () => commitText(commit))
    this.#checkMemory()
    shardCheck.check(commit)
    ledger.note(commit, this.number)
  }
}

/** Whether the store refused the call, which does not disturb the process. */
function isRefusal(error: unknown): boolean {
  return (
    !(error instanceof StoreError) || !['store-unavailable', 'unknown-outcome', 'fenced'].includes(error.code)
  )
}

function shownError(error: unknown): string {
  return error instanceof Error ? error.message : shown(error)
}
