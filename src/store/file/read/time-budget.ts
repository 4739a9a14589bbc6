import type { Clock } from '../../../time/index.js'

const ITEMS_BETWEEN_CLOCK_READS = 256

/** How long a query may take. It reads the clock only once every few hundred items. */
export class TimeBudget {
  readonly #clock: Clock
  readonly #until: number
  #items = 0
  #isOver = false

  constructor(clock: Clock, budgetMs: number | undefined) {
    this.#clock = clock
    this.#until = budgetMs === undefined ? Infinity : clock.monotonic() + budgetMs
  }

  /** Call it once per item. */
  isOver(): boolean {
    if (this.#until === Infinity) return false
    if (++this.#items % ITEMS_BETWEEN_CLOCK_READS === 0) this.#isOver = this.#clock.monotonic() >= this.#until
    return this.#isOver
  }
}
