import type { VirtualClock } from '../../time/index.js'
import type { PlannedInstance } from './plan.js'
import { type MakeEngine, SimulatedProcess } from './simulated-process.js'
import type { World } from './world.js'

// A process that could not open is started again after this long.
const REBOOT_MS = 500

/**
 * A machine with a clock that is wrong in its own way. It runs one process at a time, and a new one with an
 * empty memory after each that crashed or was stopped.
 */
export class Machine {
  readonly instance: number
  readonly clock: VirtualClock
  readonly #world: World
  readonly #planned: PlannedInstance
  readonly #makeEngine: MakeEngine
  readonly #nextNumber: () => number
  process: SimulatedProcess | undefined
  /** It stays down for good. */
  isDown = false

  constructor(world: World, instance: number, makeEngine: MakeEngine, nextNumber: () => number) {
    this.instance = instance
    this.#world = world
    this.#planned = world.plan.instances[instance]!
    this.#makeEngine = makeEngine
    this.#nextNumber = nextNumber
    this.clock = world.clock.fork()
    this.clock.jump(this.#planned.skewMs)
    this.clock.drift(this.#planned.rate)
  }

  /** The process here that takes operations. */
  get open(): SimulatedProcess | undefined {
    return this.process?.isOpen === true ? this.process : undefined
  }

  boot(member?: string): void {
    if (this.process !== undefined || this.isDown) return
    const number = this.#nextNumber()
    const identity = { number, member: member ?? `m${this.instance}.${number}` }
    const process = new SimulatedProcess(this.#world, this, identity, this.#makeEngine)
    this.process = process
    this.#world.journal.say(
      identity.member,
      () => `boots, its clock ${this.clock.now() - this.#world.clock.now()} ms off`,
    )
    process.engine.open().then(
      () => this.#opened(process),
      (error: unknown) => this.#failed(process, 'open', error),
    )
  }

  crash(sent: 'commits' | 'is-lost' | 'commits-late', downMs: number, isSameMember: boolean): void {
    const { process } = this
    if (process === undefined) return
    this.#world.journal.count('crashes')
    this.#world.journal.say(process.member, () => `crashes for ${downMs} ms, what it sent ${sent}`)
    process.crash(sent)
    this.process = undefined
    this.#world.clock.wakeAfter(downMs, () => this.boot(isSameMember ? process.member : undefined))
  }

  stop(downMs: number): void {
    const { process } = this
    if (process === undefined || !process.isOpen || process.isStopping) return
    process.isStopping = true
    process.gate.enter(() => {
      this.#world.journal.count('stops')
      this.#world.journal.say(process.member, () => 'is stopped')
      // It may crash while it stops.
      const goOn = (): void => {
        if (this.process !== process) return
        this.#world.journal.say(process.member, () => 'has stopped')
        process.ended()
        this.process = undefined
        this.#world.clock.wakeAfter(downMs, () => this.boot())
      }
      process.engine.stop().then(goOn, (error: unknown) => {
        this.#world.journal.broken('face', `stop rejected: ${String(error)}`)
      })
    })
  }

  /** What its kinds are allowed has changed. */
  refresh(): void {
    const { process } = this
    process?.gate.enter(() => process.engine.refresh?.())
  }

  pause(): void {
    const { process } = this
    if (process === undefined) return
    this.#world.journal.count('pauses')
    this.#world.journal.say(process.member, () => 'is paused')
    process.gate.hold()
  }

  resume(): void {
    const { process } = this
    if (process === undefined) return
    this.#world.journal.say(process.member, () => 'goes on')
    process.gate.release()
  }

  #opened(process: SimulatedProcess): void {
    process.isOpen = true
    const { startAfterMs } = this.#planned
    if (startAfterMs === 0) this.#start(process)
    else process.clock.wakeAfter(startAfterMs, () => this.#start(process))
  }

  #start(process: SimulatedProcess): void {
    if (!process.isOpen || process.isStopping) return
    process.engine.start().catch((error: unknown) => this.#failed(process, 'start', error))
  }

  #failed(process: SimulatedProcess, what: string, error: unknown): void {
    if (this.process !== process || process.isStopping) return
    this.#world.journal.say(process.member, () => `cannot ${what}: ${String(error)}`)
    this.#world.journal.count(`failed to ${what}`)
    this.crash('commits', REBOOT_MS, false)
  }
}
