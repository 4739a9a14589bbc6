import type { Clock } from '../../time/index.js'

const LOOKS_BETWEEN_READINGS = 256

/** How long a reading may look; the clock is read only now and then. */
export class TimeBudget {
  readonly #clock: Clock
  readonly #until: number
  #looks = 0
  #isOver = false

  constructor(clock: Clock, budgetMs: number | undefined) {
    this.#clock = clock
    this.#until = budgetMs === undefined ? Infinity : clock.monotonic() + budgetMs
  }

  /** Asked for every item that was looked at. */
  isOver(): boolean {
    if (this.#until === Infinity) return false
    if (++this.#looks % LOOKS_BETWEEN_READINGS === 0) this.#isOver = this.#clock.monotonic() >= this.#until
    return this.#isOver
  }
}
