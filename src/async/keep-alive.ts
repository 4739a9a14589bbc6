import type { Clock, Wake } from '../time/index.js'

// Any long period will do: only the pending wake matters.
const REPEAT_MS = 60_000

/**
 * Keeps the process alive from `start` to `stop`, even while no other wake is pending.
 * Proven by test/async/keep-alive.test.ts.
 */
export class KeepAlive {
  readonly #clock: Clock
  #wake: Wake | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  start(): void {
    this.#wake?.cancel()
    this.#wake = this.#clock.wakeAfter(REPEAT_MS, () => this.start())
  }

  stop(): void {
    this.#wake?.cancel()
    this.#wake = undefined
  }
}
