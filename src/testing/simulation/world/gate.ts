import type { Clock } from '../../../time/index.js'

// A process that gets control this often without time passing is in an endless loop.
const MAX_AT_ONE_INSTANT = 20_000

const ROUNDING_MS = 1e-6

/**
 * The entry of one simulated process: everything that gives it control passes here. While the gate is held, entries wait
 * and later run in order, each in a turn of its own. Once it is shut, nothing passes again. Held by `hold` it simulates
 * a pause, held by `busy` a handler that blocks, and shut a crash.
 *
 * Proven by test/testing/simulation/gate.test.ts.
 */
export class Gate {
  readonly #clock: Clock
  readonly #onThrow: (error: unknown) => void
  readonly #waiting: (() => void)[] = []
  #instant = -1
  #countAtInstant = 0
  #state: 'open' | 'held' | 'draining' | 'shut' = 'open'
  #isPaused = false
  #isBusy = false
  #busySince = 0
  #busyUntil = 0
  // Runs first once the process is no longer busy.
  readonly #next: (() => void)[] = []

  /** `clock` schedules the turns after a pause. It must be true time, not the clock that the process sees. */
  constructor(clock: Clock, onThrow: (error: unknown) => void) {
    this.#clock = clock
    this.#onThrow = onThrow
  }

  get isShut(): boolean {
    return this.#state === 'shut'
  }

  enter(run: () => void): void {
    if (this.#state === 'shut') return
    if (this.#state === 'open') this.#run(run)
    else this.#waiting.push(run)
  }

  hold(): void {
    this.#isPaused = true
    if (this.#state !== 'shut') this.#state = 'held'
  }

  release(): void {
    this.#isPaused = false
    this.#resume()
  }

  /** How far the process is ahead of true time, because a running handler keeps it busy until then. */
  get aheadMs(): number {
    return Math.max(0, this.#busyUntil - this.#clock.monotonic())
  }

  /** How long the process will have been busy without a break. */
  get busyMs(): number {
    return this.#isBusy ? this.#busyUntil - this.#busySince : 0
  }

  /** The running code takes `ms`. Nothing passes until then. The process is ahead until true time catches up. */
  busy(ms: number): void {
    if (this.#state === 'shut') return
    const now = this.#clock.monotonic()
    if (!this.#isBusy && now > this.#busyUntil) this.#busySince = now
    this.#busyUntil = Math.max(this.#busyUntil, now) + ms
    this.#state = 'held'
    if (this.#isBusy) return
    this.#isBusy = true
    this.#awaitFree()
  }

  /** As `busy`, and then runs `resume` before everything that waits. */
  block(ms: number, resume: () => void): void {
    this.#next.push(resume)
    this.busy(ms)
  }

  shut(): void {
    this.#state = 'shut'
    this.#waiting.length = 0
  }

  #resume(): void {
    if (this.#state !== 'held' || this.#isPaused || this.#isBusy) return
    this.#state = 'draining'
    this.#drain()
  }

  #awaitFree(): void {
    this.#clock.wakeAfter(this.aheadMs, () => {
      if (this.#state === 'shut') return
      if (this.aheadMs > ROUNDING_MS) {
        this.#awaitFree()
        return
      }
      this.#isBusy = false
      this.#waiting.unshift(...this.#next.splice(0))
      this.#resume()
    })
  }

  #drain(): void {
    this.#clock.wakeAfter(0, () => {
      if (this.#state !== 'draining') return
      const run = this.#waiting.shift()
      if (run !== undefined) this.#run(run)
      // The process may have been held or shut by what just ran.
      if (this.#state !== 'draining') return
      if (this.#waiting.length === 0) this.#state = 'open'
      else this.#drain()
    })
  }

  #run(run: () => void): void {
    const now = this.#clock.monotonic()
    this.#countAtInstant = now === this.#instant ? this.#countAtInstant + 1 : 0
    this.#instant = now
    if (this.#countAtInstant > MAX_AT_ONE_INSTANT) {
      this.shut()
      this.#onThrow(new Error('the process is in an endless loop: it never lets time pass'))
      return
    }
    try {
      run()
    } catch (error) {
      this.#onThrow(error)
    }
  }
}
