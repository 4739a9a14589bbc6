import { NEVER } from './horizon.js'

/**
 * Counts a limited number of occurrences out, only as far as it is asked to, so that a schedule used in order
 * never counts twice and the first question does not pay for the last.
 */
export class Countdown {
  readonly #next: (after: number) => number
  #reached: number
  #left: number

  constructor(next: (after: number) => number, from: number, count: number) {
    this.#next = next
    this.#reached = from - 1
    this.#left = count
  }

  /** Whether the occurrence at `at` is among those counted. */
  includes(at: number): boolean {
    while (this.#left > 0 && this.#reached < at) {
      const next = this.#next(this.#reached)
      if (next === NEVER) this.#left = 0
      else {
        this.#reached = next
        this.#left--
      }
    }
    return at <= this.#reached
  }
}
