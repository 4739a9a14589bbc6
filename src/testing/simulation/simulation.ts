import { MemoryStore } from '../../store/index.js'
import { VirtualClock } from '../../time/index.js'
import { Chaos } from './chaos.js'
import { Client } from './client.js'
import type { CallFilter, Fault } from './fault.js'
import { FiringCheck } from './firing-check.js'
import { Journal } from './journal.js'
import { Ledger } from './ledger.js'
import { lifeText } from './life.js'
import { FINALE_MS } from './operation.js'
import { Machine } from './machine.js'
import { Peephole } from './peephole.js'
import type { Plan } from './plan.js'
import { Receiver } from './receiver.js'
import { ShardCheck } from './shard-check.js'
import type { MakeEngine } from './simulated-process.js'
import type { PromiseName } from './violation.js'
import type { World } from './world.js'

const SLICE_MS = 500
const LONGEST_CALM_MS = 240_000
// After everything has ended, what fires once more is a violation.
const AFTERWARDS_MS = 4000

/**
 * One run: machines with engines over one memory store, first in trouble, then in calm until everything that
 * was set has ended. It stops at the first violation.
 */
export class Simulation {
  readonly journal: Journal
  readonly #plan: Plan
  readonly #world: World
  readonly #client: Client
  readonly #machines: readonly Machine[]
  readonly #onGoing = new Map<Fault, () => void>()
  #isCalm = false

  constructor(
    plan: Plan,
    makeEngine: MakeEngine,
    options: { readonly isTraced?: boolean; readonly promises?: readonly PromiseName[] | undefined },
  ) {
    this.#plan = plan
    const { seed, shardCount, settings, instances, travel, handling } = plan
    const clock = new VirtualClock()
    const store = new MemoryStore({ clock, shardCount })
    const peephole = new Peephole(store)
    const journal = new Journal(clock, options.isTraced ?? false, options.promises)
    const ledger = new Ledger(shardCount, journal, peephole)
    const shardCheck = new ShardCheck(journal, ledger, peephole)
    const chaos = new Chaos(travel, instances.length)
    const ownerOf = (shard: number): string => peephole.shards()[shard]!.owner
    const check = new FiringCheck(journal, ledger, ownerOf, settings.maxClockOffsetMs)
    const receiver = new Receiver(seed, handling, { chaos, check, journal })
    this.journal = journal
    this.#world = { plan, clock, store, peephole, journal, ledger, shardCheck, chaos, receiver }
    this.#client = new Client(journal, ledger)
    let lastNumber = 0
    const nextNumber = (): number => ++lastNumber
    this.#machines = instances.map((_, index) => new Machine(this.#world, index, makeEngine, nextNumber))
  }

  async run(): Promise<void> {
    const { clock } = this.#world
    for (const fault of this.#plan.faults) clock.wakeAfter(fault.at, () => this.#strike(fault))
    for (const operation of this.#plan.operations) {
      clock.wakeAfter(operation.at, () =>
        this.#operate(operation.instance, (process) => this.#client.submit(operation, process)),
      )
      const again = operation.action.type === 'set' ? operation.action.again : undefined
      if (again === undefined) continue
      clock.wakeAfter(operation.at + again.afterMs, () =>
        this.#operate(again.instance, (process) => this.#client.submit(operation, process)),
      )
    }
    for (const machine of this.#machines) machine.boot()
    await this.#pass(this.#plan.troubleMs + SLICE_MS)
    this.#calm()
    if (this.#plan.hasTakeover) await this.#takeover()
    for (const machine of this.#machines) {
      machine.isDown = false
      machine.boot()
    }
    await this.#pass(FINALE_MS)
    for (let passed = 0; passed < LONGEST_CALM_MS && !this.#hasEnded(); passed += SLICE_MS)
      await this.#pass(SLICE_MS)
    await this.#pass(AFTERWARDS_MS)
    if (this.journal.violations.length === 0) this.#checkEnd()
    this.journal.count('virtual seconds', Math.round(this.journal.at / 1000))
  }

  #operate(instance: number, act: (process: NonNullable<Machine['process']>) => void): void {
    // Whoever finds this machine down goes to another.
    const { length } = this.#machines
    for (let i = 0; i < length; i++) {
      const process = this.#machines[(instance + i) % length]!.open
      if (process === undefined) continue
      process.gate.enter(() => act(process))
      return
    }
    this.journal.count('operations not begun')
  }

  #strike(fault: Fault): void {
    const machine = this.#machines[fault.instance]!
    const { clock, chaos, journal } = this.#world
    const during = (forMs: number, end: () => void): void => {
      this.#onGoing.set(fault, end)
      clock.wakeAfter(forMs, () => this.#end(fault))
    }
    const upon = (call: CallFilter | undefined, act: () => void): void => {
      // Not within the turn that sends the call: that one ends as it will.
      if (call === undefined) act()
      else chaos.arm(fault.instance, call, () => clock.wakeAfter(0, () => (this.#isCalm ? undefined : act())))
    }
    journal.count('faults')
    journal.say(`m${fault.instance}`, () => `FAULT ${JSON.stringify(fault)}`)
    switch (fault.type) {
      case 'crash':
        upon(fault.upon, () => machine.crash(fault.sent, fault.downMs, fault.isSameMember))
        return
      case 'stop':
        machine.stop(fault.downMs)
        return
      case 'pause':
        upon(fault.upon, () => {
          machine.pause()
          during(fault.forMs, () => machine.resume())
        })
        return
      case 'partition':
      case 'wakes':
        chaos.begin(fault)
        during(fault.forMs, () => chaos.end(fault))
        return
      case 'closed':
        chaos.begin(fault)
        machine.refresh()
        during(fault.forMs, () => {
          chaos.end(fault)
          machine.refresh()
        })
        return
      case 'calls':
      case 'handlers':
        chaos.begin(fault)
        return
      case 'jump':
        machine.clock.jump(fault.byMs)
        during(fault.forMs, () => machine.clock.jump(-fault.byMs))
        return
      case 'drift':
        machine.clock.drift(fault.rate)
    }
  }

  #end(fault: Fault): void {
    const end = this.#onGoing.get(fault)
    this.#onGoing.delete(fault)
    end?.()
  }

  #calm(): void {
    this.journal.say('', () => 'ALL IS CALM')
    this.#isCalm = true
    this.#world.chaos.calm()
    for (const fault of this.#onGoing.keys()) this.#end(fault)
    this.#world.receiver.releaseAll()
    for (const machine of this.#machines) machine.boot()
  }

  /** An owner dies for good: its shards must have another one in time. */
  async #takeover(): Promise<void> {
    const { leaseMs, acquireMs, heartbeatMs } = this.#plan.settings
    const { peephole, journal } = this.#world
    await this.#pass(3 * (leaseMs + acquireMs + heartbeatMs))
    if (journal.violations.length > 0) return
    const victim = this.#machines.find(
      ({ process }) =>
        process !== undefined && peephole.shards().some(({ owner }) => owner === process.member),
    )
    const dead = victim?.process?.member
    if (victim === undefined || dead === undefined) {
      journal.broken(15, 'in calm no shard has an owner')
      return
    }
    journal.say('', () => `${dead} DIES`)
    victim.isDown = true
    victim.crash('commits', 0, false)
    journal.count('deaths')
    await this.#pass(leaseMs + acquireMs + this.#plan.travel.maxMs * 6 + 100)
    if (journal.violations.length > 0) return
    for (const { shard, owner } of peephole.shards()) {
      if (owner === dead) journal.broken(15, `shard ${shard} still has the dead owner ${dead}`)
    }
  }

  async #pass(ms: number): Promise<void> {
    const { clock } = this.#world
    for (let passed = 0; passed < ms && this.journal.violations.length === 0; passed += SLICE_MS) {
      await clock.advance(Math.min(SLICE_MS, ms - passed))
    }
  }

  #hasEnded(): boolean {
    const { ledger } = this.#world
    const { violations } = this.journal
    return (
      violations.length > 0 ||
      (ledger.standingCount === 0 && ledger.requests.size === 0 && this.#client.waiting.length === 0)
    )
  }

  #checkEnd(): void {
    const { ledger, clock, shardCheck } = this.#world
    for (let shard = 0; shard < this.#plan.shardCount; shard++) {
      for (const life of ledger.standing(shard).values()) {
        this.journal.broken(
          1,
          `${lifeText(life)} was due ${clock.now() - life.version.dueAt} ms ago and still stands`,
        )
      }
    }
    for (const life of [...ledger.lives.values()].flat()) {
      if (life.state === 'settled' && life.attempts.length === 0) {
        this.journal.broken(1, `${lifeText(life)} was never delivered`)
      }
    }
    for (const request of ledger.requests.values()) {
      this.journal.broken(6, `request ${request.id} to shard ${request.shard} was never applied`)
    }
    shardCheck.checkRows()
    this.#client.checkEnd()
  }
}
