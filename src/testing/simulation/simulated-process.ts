import type { Engine, EngineOptions } from '../../engine/index.js'
import { shown } from '../../error/index.js'
import type { MemoryStore, Store } from '../../store/index.js'
import type { VirtualClock } from '../../time/index.js'
import { type Commit, commitOf } from './commit.js'
import { commitText } from './commit-text.js'
import { FaultyCarriage, type LookOn } from './faulty-carriage.js'
import { Gate } from './gate.js'
import { GatedClock } from './gated-clock.js'
import { LeaseBook, readingOf } from './lease-book.js'
import { Random } from '../random.js'
import type { Handler } from './receiver.js'
import type { World } from './world.js'

/** What a simulation needs of an engine. */
export interface SimulatedEngine
  extends Pick<Engine, 'open' | 'start' | 'stop' | 'submit'>, Partial<Pick<Engine, 'submitPlain'>> {
  /** What kinds are allowed has changed, if it heeds that. */
  refresh?(): void
  /** What it holds in memory for each of its shards, if it can tell. */
  readonly shards?: readonly { readonly view: { readonly inMemory: number } }[]
}

export type MakeEngine = (options: EngineOptions) => SimulatedEngine

/**
 * One process with an engine in it: its own memory, its machine's clock, its own way to the store. A crash
 * takes all it would still have heard; what it had sent may still happen.
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
  /** From open until stopped or crashed it takes operations. */
  isOpen = false
  isStopping = false
  isSilent = false

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
    this.leases = new LeaseBook(this.clock, world.plan.settings.leaseMarginMs)
    const { clock, chaos, plan } = world
    const stream = 100 + this.number
    this.#carriage = new FaultyCarriage(
      { clock, gate: this.gate, chaos, lookOn: this.#lookOn },
      this.instance,
      new Random(plan.seed, stream),
    )
    this.#client = world.store.connect(this.#carriage)
    this.engine = makeEngine({
      store: this.#watched(),
      clock: this.clock,
      deliver: (firings) => {
        if (this.isSilent) world.journal.broken('face', `${this.member} fires after it was stopped`)
        world.receiver.deliver(firings, this)
      },
      random: new Random(plan.seed, stream + 10_000).fraction,
      memberId: this.member,
      settings: plan.settings,
      flow: {
        concurrencyOf: (_namespace, kind) =>
          chaos.isClosed(this.instance, kind) ? 0 : plan.settings.concurrency,
      },
      onEvent: (event) => {
        world.journal.count(event.type)
        world.journal.say(
          this.member,
          () =>
            `event ${JSON.stringify(event, (_key, value: unknown) => (value instanceof Error ? value.message : value))}`,
        )
      },
    })
  }

  get isAlive(): boolean {
    return !this.gate.isShut && !this.isSilent
  }

  crash(sent: 'commits' | 'is-lost' | 'commits-late'): void {
    this.isOpen = false
    this.gate.shut()
    this.#carriage.abandon(sent)
    void this.#client.stop()
  }

  /** It was stopped as it should be: from now on it must be silent. */
  ended(): void {
    this.isOpen = false
    this.isSilent = true
  }

  #threw(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : shownError(error)
    this.#world.journal.broken('face', `${this.member} threw: ${text}`)
  }

  /** The store with its arguments handed to the carriage, which sees only names. */
  #watched(): Store {
    return new Proxy<Store>(this.#client, {
      get: (client, name) => {
        const member: unknown = Reflect.get(client, name, client)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          this.#carriage.args = args
          return Reflect.apply(member, client, args)
        }
      },
    })
  }

  readonly #lookOn: LookOn = (name, args) => {
    const { peephole, journal } = this.#world
    const sent = readingOf(this.clock)
    let seen: Commit | undefined
    this.leases.sending(name, args)
    return {
      commit: (commit) => {
        journal.count('calls')
        const before = peephole.shards()
        try {
          const answer = commit()
          seen = commitOf(name, args, answer, before, peephole.shards())
          if (seen !== undefined) this.#note(seen)
          return answer
        } catch (error) {
          journal.say(this.member, () => `${name} is refused: ${shownError(error)}`)
          throw error
        }
      },
      heard: (error) => {
        if (error !== undefined) {
          journal.say(this.member, () => `hears of ${name}: ${shownError(error)}`)
          this.leases.heardError(name, args, error)
        } else if (seen !== undefined) {
          this.leases.heard(seen, sent)
          const fence = seen.name === 'write' ? seen.args[0] : undefined
          if (fence !== undefined) this.#world.ledger.heardWrite(this.number, fence.shard)
        }
      },
    }
  }

  #checkMemory(): void {
    const { maxTimers } = this.#world.plan.settings
    // A load and a write on their way at once do not know of each other.
    const most = maxTimers + Math.max(3, Math.ceil(maxTimers / 4))
    for (const { view } of this.isAlive ? (this.engine.shards ?? []) : []) {
      if (view.inMemory <= most) continue
      this.#world.journal.broken(
        14,
        `${this.member} has ${view.inMemory} timers in memory, of ${maxTimers} allowed`,
      )
    }
  }

  #note(commit: Commit): void {
    const { ledger, shardCheck, journal } = this.#world
    journal.say(this.member, () => commitText(commit))
    this.#checkMemory()
    shardCheck.check(commit)
    ledger.note(commit, this.number)
  }
}

function shownError(error: unknown): string {
  return error instanceof Error ? error.message : shown(error)
}
