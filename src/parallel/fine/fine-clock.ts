import { checkInstant } from '../../error/index.js'
import { type Clock, systemClock, type Wake, type WakeOptions } from '../../time/index.js'
import { AlarmThread, type FineClockStats } from './alarm-thread.js'

/** The longest time until the wall clock is read again: somebody may set it. */
const LONGEST_MS = 1000

/**
 * The clock of the machine, with wakes that come as soon as the wall clock shows their millisecond. A timer of Node comes
 * up to a millisecond later. Here, a thread sleeps until the instant and then sends a message. Wakes after a delay are
 * those of the system clock.
 *
 * Proven by test/parallel/fine-clock.test.ts.
 */
export class FineClock implements Clock {
  readonly #thread = new AlarmThread(() => this.#wakeDue())
  readonly #wakes = new Set<FineWake>()
  /** How many of the wakes keep the process alive. */
  #keptAlive = 0
  #alarmAt = Infinity

  /** Starts the thread. */
  static async start(): Promise<FineClock> {
    const clock = new FineClock()
    await clock.#thread.start()
    return clock
  }

  private constructor() {}

  now(): number {
    return systemClock.now()
  }

  monotonic(): number {
    return systemClock.monotonic()
  }

  wakeAt(dueAt: number, wake: () => void, { keepAlive = true }: WakeOptions = {}): Wake {
    checkInstant(dueAt)
    const asked = new FineWake(dueAt, keepAlive, wake, (ended) => this.#remove(ended))
    this.#wakes.add(asked)
    if (keepAlive && ++this.#keptAlive === 1) this.#thread.keepAlive(true)
    if (dueAt < this.#alarmAt) this.#setAlarm(dueAt)
    return asked
  }

  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake {
    return systemClock.wakeAfter(delayMs, wake, options)
  }

  turnEnd(): Promise<void> {
    return systemClock.turnEnd()
  }

  get stats(): FineClockStats {
    return this.#thread.stats
  }

  /** Ends the thread. Wakes that are pending, or asked for later, come as those of the system clock do. */
  async stop(): Promise<void> {
    await this.#thread.stop()
  }

  #setAlarm(dueAt: number): void {
    const now = systemClock.now()
    // An instant long ago does not fit into the word that the thread reads.
    this.#alarmAt = Math.max(now, Math.min(dueAt, now + LONGEST_MS))
    this.#thread.set(this.#alarmAt)
  }

  #wakeDue(): void {
    this.#alarmAt = Infinity
    const now = systemClock.now()
    const due = [...this.#wakes].filter(({ dueAt }) => dueAt <= now).toSorted((a, b) => a.dueAt - b.dueAt)
    try {
      for (const wake of due) wake.run()
    } finally {
      // Also if a wake throws: then the others come with the next alarm.
      let next = Infinity
      for (const { dueAt } of this.#wakes) next = Math.min(next, dueAt)
      if (next < this.#alarmAt) this.#setAlarm(next)
    }
  }

  #remove(wake: FineWake): void {
    if (!this.#wakes.delete(wake)) return
    if (wake.keepAlive && --this.#keptAlive === 0) this.#thread.keepAlive(false)
  }
}

class FineWake implements Wake {
  readonly dueAt: number
  readonly keepAlive: boolean
  readonly #wake: () => void
  readonly #onEnd: (wake: FineWake) => void
  #isOver = false

  constructor(dueAt: number, keepAlive: boolean, wake: () => void, onEnd: (wake: FineWake) => void) {
    this.dueAt = dueAt
    this.keepAlive = keepAlive
    this.#wake = wake
    this.#onEnd = onEnd
  }

  run(): void {
    if (this.#isOver) return
    this.cancel()
    this.#wake()
  }

  cancel(): void {
    this.#isOver = true
    this.#onEnd(this)
  }
}
