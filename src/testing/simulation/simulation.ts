import { MemoryStore } from '../../store/index.js'
import { VirtualClock } from '../../time/index.js'
import { Chaos } from './plan/chaos.js'
import { Client } from './world/client.js'
import type { CallFilter, Fault } from './plan/fault.js'
import { FiringCheck } from './check/firing-check.js'
import { Journal } from './check/journal.js'
import { Ledger } from './check/ledger.js'
import { lifeText } from './world/life.js'
import {
  FINALE_MS,
  FIRST_OF_SCENES,
  type PlannedOperation,
  type PlannedSet,
  type SimulatedKind,
  simulatedKinds,
} from './plan/operation.js'
import { Machine } from './world/machine.js'
import { StoreInspector } from './check/store-inspector.js'
import type { Plan } from './plan/plan.js'
import { Receiver, SLOW_KEY } from './world/receiver.js'
import { ShardCheck } from './check/shard-check.js'
import { StoreTime } from './world/store-time.js'
import type { MakeEngine, SimulatedProcess } from './world/simulated-process.js'
import type { PromiseName } from './check/violation.js'
import type { World } from './world/world.js'

const SLICE_MS = 500
const MAX_CALM_MS = 240_000
const MAX_CALM_SKEW_MS = 450
// How long to watch after everything has ended: any further firing is a violation.
const AFTERWARDS_MS = 4000

/**
 * One run: machines with engines over one memory store. First faults and operations strike as planned. Then comes a
 * calm until every timer has ended. The run stops at the first violation.
 *
 * Proven by test/testing/simulation/simulation.test.ts, and by every mutant of test/engine/mutants.ts that seeds notice.
 */
export class Simulation {
  readonly journal: Journal
  readonly #plan: Plan
  readonly #world: World
  readonly #client: Client
  readonly #machines: readonly Machine[]
  readonly #activeFaults = new Map<Fault, () => void>()
  #isCalm = false
  #lastIdentity = FIRST_OF_SCENES
  /** Operations that wait at the gate of a paused or blocked process, and that process. */
  readonly #entering = new Map<symbol, SimulatedProcess>()

  constructor(
    plan: Plan,
    makeEngine: MakeEngine,
    options: { readonly isTraced?: boolean; readonly promises?: readonly PromiseName[] | undefined },
  ) {
    this.#plan = plan
    const { seed, shardCount, settings, instances, travel, handling } = plan
    const clock = new VirtualClock()
    const time = new StoreTime(clock)
    const store = new MemoryStore({ clock: time.clock, shardCount })
    const inspector = new StoreInspector(store)
    const journal = new Journal(clock, options.isTraced ?? false, options.promises)
    const { maxClockOffsetMs } = settings
    const ledger = new Ledger({ shardCount, journal, inspector, time, maxClockOffsetMs })
    const shardCheck = new ShardCheck(journal, ledger, inspector)
    const chaos = new Chaos(travel, instances.length)
    const ownerOf = (shard: number): string => inspector.shards()[shard]!.owner
    const check = new FiringCheck({ journal, ledger, time, ownerOf, settings })
    const longestBlockMs = settings.leaseMs / 4
    const receiver = new Receiver(seed, handling, { chaos, check, journal, longestBlockMs })
    this.journal = journal
    this.#world = { plan, clock, time, store, inspector, journal, ledger, shardCheck, chaos, receiver }
    this.#client = new Client(journal, ledger)
    let lastNumber = 0
    const nextNumber = (): number => ++lastNumber
    this.#machines = instances.map((_, index) => new Machine(this.#world, index, makeEngine, nextNumber))
  }

  async run(): Promise<void> {
    const { clock } = this.#world
    for (const fault of this.#plan.faults) clock.wakeAfter(fault.at, () => this.#inject(fault))
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
    for (const [index, machine] of this.#machines.entries()) {
      const { bootAfterMs } = this.#plan.instances[index]!
      if (bootAfterMs === 0) machine.boot()
      else clock.wakeAfter(bootAfterMs, () => machine.boot())
    }
    await this.#pass(this.#plan.troubleMs + SLICE_MS)
    this.#calm()
    if (this.#plan.hasRebalance) await this.#joinWhileBusy()
    if (this.#plan.hasProbes) await this.#probeKinds()
    if (this.#plan.strayMs !== undefined) await this.#setOwnerClockOff(this.#plan.strayMs)
    if (this.#plan.hasTakeover) await this.#killOwner()
    if (this.#plan.isDeserted) await this.#callWhileDeserted()
    for (const machine of this.#machines) {
      machine.isDown = false
      machine.boot()
    }
    await this.#pass(FINALE_MS)
    await this.#passUntilEnded()
    await this.#pass(AFTERWARDS_MS)
    // A long attempt may have reported just now. Its request needs time to be applied.
    await this.#passUntilEnded()
    if (this.journal.violations.length === 0) this.#checkEnd()
    this.journal.count('virtual seconds', Math.round(this.journal.at / 1000))
  }

  #operate(instance: number, act: (process: NonNullable<Machine['process']>) => void): void {
    // A client that finds this machine down goes to the next one.
    const { length } = this.#machines
    for (let i = 0; i < length; i++) {
      const process = this.#machines[(length + (instance % length) + i) % length]!.open
      if (process === undefined) continue
      const entry = Symbol('operation')
      this.#entering.set(entry, process)
      process.gate.enter(() => {
        this.#entering.delete(entry)
        act(process)
      })
      return
    }
    this.journal.count('operations not begun')
  }

  #inject(fault: Fault): void {
    const machine = this.#machines[fault.instance]!
    const { clock, chaos, journal, time } = this.#world
    const during = (forMs: number, end: () => void): void => {
      this.#activeFaults.set(fault, end)
      clock.wakeAfter(forMs, () => this.#end(fault))
    }
    const upon = (call: CallFilter | undefined, act: () => void): void => {
      // Not within the turn that sends the call: the process finishes that turn.
      if (call === undefined) act()
      else chaos.arm(fault.instance, call, () => clock.wakeAfter(0, () => (this.#isCalm ? undefined : act())))
    }
    journal.count('faults')
    journal.log(`m${fault.instance}`, () => `FAULT ${JSON.stringify(fault)}`)
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
      case 'blocks':
        chaos.begin(fault)
        return
      case 'jump':
        machine.setClock(fault.byMs)
        during(fault.forMs, () => machine.setClock(-fault.byMs))
        return
      case 'drift':
        machine.clock.drift(fault.rate)
        return
      case 'store-jump':
        this.#setStoreClock(fault.byMs, fault.isEverywhere)
        during(fault.forMs, () => this.#setStoreClock(-fault.byMs, fault.isEverywhere))
        return
      case 'store-drift':
        time.clock.drift(fault.rate)
        return
      case 'power':
        this.#losePower()
        during(fault.downMs, () => {
          chaos.isStoreDown = false
        })
    }
  }

  #setStoreClock(byMs: number, isEverywhere: boolean): void {
    this.#world.time.jump(byMs)
    for (const machine of this.#machines) {
      if (isEverywhere) machine.setClock(byMs)
      else machine.process?.disturb()
    }
  }

  #losePower(): void {
    this.#world.chaos.isStoreDown = true
    for (const { process } of this.#machines) process?.losePower()
  }

  #end(fault: Fault): void {
    const end = this.#activeFaults.get(fault)
    this.#activeFaults.delete(fault)
    end?.()
  }

  #calm(): void {
    this.journal.log('', () => 'ALL IS CALM')
    this.#isCalm = true
    this.#world.chaos.calm()
    for (const fault of this.#activeFaults.keys()) this.#end(fault)
    this.#world.receiver.releaseAll()
    // This includes clocks that were wrong from the beginning. All run at one rate from now on: the calm may take
    // minutes, in which a clock that runs a thousandth fast would be further off than is allowed.
    const { clock: storeClock } = this.#world.time
    storeClock.drift(1)
    for (const machine of this.#machines) {
      machine.clock.drift(1)
      const offMs = machine.clock.now() - storeClock.now()
      if (Math.abs(offMs) > MAX_CALM_SKEW_MS) machine.setClock(-offMs)
    }
    for (const machine of this.#machines) machine.boot()
  }

  /** Waits until heartbeats, leases and shard assignments have settled. */
  async #rest(): Promise<void> {
    const { leaseMs, acquireMs, heartbeatMs } = this.#plan.settings
    await this.#pass(3 * (leaseMs + acquireMs + heartbeatMs))
  }

  /** The longest that this many calls to the store take, one after the other. */
  #callsMs(count: number): number {
    return count * 2 * this.#plan.travel.maxMs
  }

  /** A machine whose process owns a shard, if there is one. */
  #owner(): Machine | undefined {
    const owners = new Set(this.#world.inspector.shards().map(({ owner }) => owner))
    return this.#machines.find(
      ({ process, isOutsider }) => !isOutsider && process !== undefined && owners.has(process.member),
    )
  }

  /**
   * A scene: a machine joins while attempts are running that take longer than their owner waits before it releases the
   * shard. Timers that become due meanwhile must start in time.
   *
   * The bound: the last owner starts timers until it releases the shard. The new owner looks for shards every
   * `acquireMs`, knows members that are at most `heartbeatMs` old, reads the inbox within `inboxPollMs`, and needs a
   * few calls to begin.
   */
  async #joinWhileBusy(): Promise<void> {
    const { settings, shardCount } = this.#plan
    const { acquireMs, heartbeatMs, stopMs, leaseMs, inboxPollMs } = settings
    const { journal } = this.#world
    await this.#rest()
    const joiner = this.#owner()
    if (joiner === undefined || journal.violations.length > 0) return
    joiner.stop(undefined)
    await this.#pass(stopMs + settings.settleMs + this.#callsMs(4) + 2 * leaseMs + 2 * acquireMs)
    journal.log('', () => 'LONG ATTEMPTS BEGIN')
    const slowMs = stopMs + 2 * leaseMs + acquireMs + heartbeatMs
    for (let count = 0; count < 4 * shardCount; count++) this.#set(`${SLOW_KEY}${slowMs}-${count}`, 1)
    await this.#pass(inboxPollMs + acquireMs + this.#callsMs(8))
    journal.log('', () => 'A MACHINE JOINS')
    journal.count('rebalances')
    joiner.boot()
    const boundMs = acquireMs + heartbeatMs + inboxPollMs + this.#callsMs(16) + 150
    const stepMs = Math.max(10, Math.round(acquireMs / 7))
    const probes: Probe[] = []
    for (let passed = 0; passed < stopMs + 3 * (acquireMs + heartbeatMs); passed += stepMs) {
      const probe = this.#set(`probe-${probes.length}`, stepMs)
      if (probe !== undefined) probes.push(probe)
      await this.#pass(stepMs)
    }
    await this.#pass(boundMs)
    for (const probe of probes) this.#checkProbe(probe, boundMs)
  }

  /**
   * A scene: timers of each kind become due while all is calm. Each must start in time at a machine that handles its
   * kind, wherever its shard is owned. The bound: a second, the inbox, and a few calls.
   */
  async #probeKinds(): Promise<void> {
    const { inboxPollMs } = this.#plan.settings
    await this.#rest()
    if (this.#world.journal.violations.length > 0) return
    this.#world.journal.count('probed kinds')
    const boundMs = 1000 + inboxPollMs + this.#callsMs(20) + 150
    const probes: Probe[] = []
    for (let round = 0; round < 4; round++) {
      for (const kind of simulatedKinds) {
        const probe = this.#set(`pool-${probes.length}`, 200, kind)
        if (probe !== undefined) probes.push(probe)
      }
      await this.#pass(200)
    }
    await this.#pass(boundMs + 500)
    for (const probe of probes) this.#checkProbe(probe, boundMs, 19)
  }

  #checkProbe({ identity, dueAt }: Probe, boundMs: number, promise: PromiseName = 'rebalance'): void {
    const { ledger, journal } = this.#world
    const life = ledger.life(identity)
    // A timer that nobody acknowledged may be missing.
    if (journal.violations.length > 0 || (life === undefined && !ledger.appended.has(identity))) return
    const lateMs = (life?.attempts[0]?.startedAt ?? journal.at) - dueAt
    if (lateMs <= boundMs) return
    const what = life === undefined ? `timer ${identity}` : lifeText(life)
    journal.violated(
      promise,
      `${what} was ${Math.round(lateMs)} ms late; at most ${Math.round(boundMs)} ms are allowed`,
    )
  }

  /** Sets a timer at a machine that accepts operations. */
  #set(key: string, dueInMs: number, kind: SimulatedKind = simulatedKinds[0]): Probe | undefined {
    const identity = ++this.#lastIdentity
    const set = { identity, kind, key, dueInMs, condition: 'none' } as const
    const action = { type: 'set', sets: [set], again: undefined } as const
    let probe: Probe | undefined
    this.#operate(identity % this.#machines.length, (process) => {
      const inMs = process.plannedNow() + dueInMs - this.#world.time.clock.now()
      probe = { identity, dueAt: this.journal.at + Math.max(0, inMs) }
      this.#client.submit({ id: identity, at: this.journal.at, instance: process.instance, action }, process)
    })
    return probe
  }

  /** A scene: the clock of an owner is set far off. Other machines must own its shards in time. */
  async #setOwnerClockOff(byMs: number): Promise<void> {
    const { leaseMs, acquireMs, heartbeatMs, stopMs, settleMs } = this.#plan.settings
    const { inspector, journal } = this.#world
    await this.#rest()
    const stray = this.#owner()
    if (stray?.process === undefined || journal.violations.length > 0) return
    const { member } = stray.process
    journal.log('', () => `THE CLOCK OF ${member} IS SET BY ${byMs} ms`)
    journal.count('strays')
    stray.setClock(byMs)
    await this.#pass(
      leaseMs + 2 * heartbeatMs + 2 * acquireMs + stopMs + 2 * settleMs + this.#callsMs(12) + 100,
    )
    for (const { shard, owner } of inspector.shards()) {
      if (owner === member)
        journal.violated(15, `shard ${shard} still has the owner ${member}, whose clock is off`)
      else if (owner === '') journal.violated(15, `shard ${shard} has no owner after ${member} released it`)
    }
    stray.setClock(-byMs)
  }

  /** A scene: an owner dies for good. Its shards must have another owner in time. */
  async #killOwner(): Promise<void> {
    const { leaseMs, acquireMs } = this.#plan.settings
    const { inspector, journal } = this.#world
    await this.#rest()
    if (journal.violations.length > 0) return
    const victim = this.#owner()
    const dead = victim?.process?.member
    if (victim === undefined || dead === undefined) {
      journal.violated(15, 'no shard has an owner although all is calm')
      return
    }
    journal.log('', () => `${dead} DIES`)
    victim.isDown = true
    victim.crash('commits', 0, false)
    journal.count('deaths')
    await this.#pass(leaseMs + acquireMs + this.#plan.travel.maxMs * 6 + 100)
    if (journal.violations.length > 0) return
    for (const { shard, owner } of inspector.shards()) {
      if (owner === dead) journal.violated(15, `shard ${shard} still has the dead owner ${dead}`)
    }
  }

  /** A scene: no instance is started. Calls of one that was only opened must work all the same. */
  async #callWhileDeserted(): Promise<void> {
    const { leaseMs, acquireMs, heartbeatMs, stopMs, settleMs, requestTimeoutMs } = this.#plan.settings
    const { journal } = this.#world
    await this.#rest()
    const outsider = this.#machines.find(({ isOutsider }) => isOutsider)
    // A call needs some fifteen calls to the store, and more if the store's clock was ahead once.
    const isSlow = requestTimeoutMs < this.#callsMs(40)
    if (outsider?.open === undefined || isSlow || journal.violations.length > 0) return
    journal.log('', () => 'ALL STARTED INSTANCES STOP')
    journal.count('deserted')
    for (const machine of this.#machines) if (!machine.isOutsider) machine.stop(undefined)
    await this.#pass(stopMs + settleMs + 2 * (leaseMs + acquireMs + heartbeatMs) + this.#callsMs(8))
    const name = { kind: simulatedKinds[0], key: 'deserted' }
    const set = (condition: PlannedSet['condition']): PlannedOperation['action'] => ({
      type: 'set',
      sets: [{ identity: ++this.#lastIdentity, ...name, dueInMs: 60_000, condition }],
      again: undefined,
    })
    const actions = [
      set('none'),
      set('none'),
      { type: 'move', ...name, dueInMs: 90_000, aim: 'name' },
      set('if-absent'),
      { type: 'cancel', ...name, aim: 'name' },
      set('if-absent'),
    ] as const satisfies readonly PlannedOperation['action'][]
    for (const action of actions) {
      const operation = { id: ++this.#lastIdentity, at: journal.at, instance: outsider.instance, action }
      this.#operate(outsider.instance, (process) => this.#client.submit(operation, process))
      await this.#pass(requestTimeoutMs)
    }
    const outcomes = this.#client.answersOf(name).map((answer) => answer?.outcome)
    const wanted = ['appended', 'set', 'moved', 'conflict', 'cancelled', 'set']
    if (journal.violations.length === 0 && outcomes.join() !== wanted.join())
      journal.violated(18, `calls were answered ${outcomes.join(', ')}, expected ${wanted.join(', ')}`)
  }

  async #pass(ms: number): Promise<void> {
    const { clock } = this.#world
    for (let passed = 0; passed < ms && this.journal.violations.length === 0; passed += SLICE_MS) {
      await clock.advance(Math.min(SLICE_MS, ms - passed))
    }
  }

  async #passUntilEnded(): Promise<void> {
    for (let passed = 0; passed < MAX_CALM_MS && !this.#hasEnded(); passed += SLICE_MS)
      await this.#pass(SLICE_MS)
  }

  #hasEnded(): boolean {
    const { ledger } = this.#world
    const { violations } = this.journal
    return (
      violations.length > 0 ||
      (ledger.standingCount === 0 &&
        ledger.requests.size === 0 &&
        this.#client.waiting.length === 0 &&
        ![...this.#entering.values()].some(({ gate }) => !gate.isShut))
    )
  }

  #checkEnd(): void {
    const { ledger, clock, shardCheck } = this.#world
    for (let shard = 0; shard < this.#plan.shardCount; shard++) {
      for (const life of ledger.standing(shard).values()) {
        this.journal.violated(
          1,
          `${lifeText(life)} was due ${clock.now() - life.version.dueAt} ms ago and has not ended`,
        )
      }
    }
    for (const life of [...ledger.lives.values()].flat()) {
      if (life.state === 'settled' && life.attempts.length === 0) {
        this.journal.violated(1, `${lifeText(life)} was never delivered`)
      }
    }
    for (const request of ledger.requests.values()) {
      this.journal.violated(6, `request ${request.id} to shard ${request.shard} was never applied`)
    }
    shardCheck.checkRows()
    this.#client.checkEnd()
  }
}

/** A timer that is set to measure when it starts. */
interface Probe {
  readonly identity: number
  /** In true milliseconds since the run began; not before it was set. */
  readonly dueAt: number
}
