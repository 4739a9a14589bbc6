import type { VirtualClock } from '../../../time/index.js'
import type { PlannedInstance } from '../plan/plan.js'
import { type MakeEngine, SimulatedProcess } from './simulated-process.js'
import type { World } from './world.js'

// A process that failed to open is restarted after this long.
const REBOOT_MS = 500

/**
 * A machine with its own wrong clock. It runs one process at a time. After a crash or a stop it starts a new process
 * with an empty memory.
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

  /** Whether its processes are only opened, never started. */
  get isOutsider(): boolean {
    return this.#planned.startAfterMs === Infinity
  }

  /** Its process, if that accepts operations. */
  get open(): SimulatedProcess | undefined {
    return this.process?.isOpen === true ? this.process : undefined
  }

  boot(member?: string): void {
    if (this.process !== undefined || this.isDown) return
    const number = this.#nextNumber()
    const identity = { number, member: member ?? `m${this.instance}.${number}` }
    const process = new SimulatedProcess(this.#world, this, identity, this.#makeEngine)
    this.process = process
    this.#world.journal.log(
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
    this.#world.journal.log(process.member, () => `crashes for ${downMs} ms, what it sent ${sent}`)
    process.crash(sent)
    this.process = undefined
    this.#world.clock.wakeAfter(downMs, () => this.boot(isSameMember ? process.member : undefined))
  }

  /** Stops its process in good order and boots again after `downMs`; without that, the caller boots it. */
  stop(downMs: number | undefined): void {
    const { process } = this
    if (process === undefined || !process.isOpen || process.isStopping) return
    process.isStopping = true
    process.disturb()
    process.gate.enter(() => {
      this.#world.journal.count('stops')
      this.#world.journal.log(process.member, () => 'is stopped')
      // It may crash while it stops.
      const onStopped = (): void => {
        if (this.process !== process) return
        this.#world.journal.log(process.member, () => 'has stopped')
        process.markStopped()
        this.process = undefined
        if (downMs !== undefined) this.#world.clock.wakeAfter(downMs, () => this.boot())
      }
      process.engine.stop().then(onStopped, (error: unknown) => {
        this.#world.journal.violated('face', `stop rejected: ${String(error)}`)
      })
    })
  }

  /** Tells the engine that the concurrency of kinds has changed. */
  refresh(): void {
    const { process } = this
    process?.gate.enter(() => process.engine.refresh?.())
  }

  pause(): void {
    const { process } = this
    if (process === undefined) return
    this.#world.journal.count('pauses')
    this.#world.journal.log(process.member, () => 'is paused')
    process.disturb()
    process.gate.hold()
  }

  resume(): void {
    const { process } = this
    if (process === undefined) return
    this.#world.journal.log(process.member, () => 'goes on')
    process.disturb()
    process.gate.release()
  }

  /** Sets the wall clock. */
  setClock(byMs: number): void {
    this.clock.jump(byMs)
    this.process?.disturb()
  }

  #opened(process: SimulatedProcess): void {
    process.isOpen = true
    const { startAfterMs } = this.#planned
    if (this.isOutsider) return
    if (startAfterMs === 0) this.#start(process)
    else process.clock.wakeAfter(startAfterMs, () => this.#start(process))
  }

  #start(process: SimulatedProcess): void {
    if (!process.isOpen || process.isStopping) return
    process.engine.start().catch((error: unknown) => this.#failed(process, 'start', error))
  }

  #failed(process: SimulatedProcess, what: string, error: unknown): void {
    if (this.process !== process || process.isStopping) return
    this.#world.journal.log(process.member, () => `cannot ${what}: ${String(error)}`)
    this.#world.journal.count(`failed to ${what}`)
    this.crash('commits', REBOOT_MS, false)
  }
}
