/** How many occurrences lie after `after` and up to `at`; when there are more than `most`, any number above it. */
export type CountUpTo = (after: number, at: number, most: number) => number

/**
 * Tells which occurrences are among a limited number. It counts by arithmetic and never steps through them; what
 * it has counted it keeps, so that a schedule used in order counts nothing twice.
 */
export class Countdown {
  readonly #count: CountUpTo
  #reached: number
  #left: number
  #over = Infinity

  constructor(count: CountUpTo, from: number, most: number) {
    this.#count = count
    this.#reached = from - 1
    this.#left = most
  }

  /** Whether the occurrence at `at` is among those counted. */
  includes(at: number): boolean {
    if (at <= this.#reached) return true
    if (at >= this.#over) return false
    const count = this.#count(this.#reached, at, this.#left)
    if (count > this.#left) {
      this.#over = at
      return false
    }
    this.#reached = at
    this.#left -= count
    return true
  }
}
