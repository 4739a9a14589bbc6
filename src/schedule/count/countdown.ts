/**
 * Counts the occurrences after `after` and up to `at`. Above `most`, the result may be any number greater
 * than `most`.
 */
export type CountUpTo = (after: number, at: number, most: number) => number

/**
 * Decides whether an occurrence is among the first `most`. It counts by arithmetic and never steps through
 * occurrences. It keeps its result, so a schedule that is used in order counts nothing twice.
 *
 * Proven by test/schedule/countdown.test.ts.
 */
export class Countdown {
  readonly #count: CountUpTo
  #countedUntil: number
  #left: number
  #endedAt = Infinity

  constructor(count: CountUpTo, from: number, most: number) {
    this.#count = count
    this.#countedUntil = from - 1
    this.#left = most
  }

  /** Whether the occurrence at `at` is among the first `most`. */
  includes(at: number): boolean {
    if (at <= this.#countedUntil) return true
    if (at >= this.#endedAt) return false
    const count = this.#count(this.#countedUntil, at, this.#left)
    if (count > this.#left) {
      this.#endedAt = at
      return false
    }
    this.#countedUntil = at
    this.#left -= count
    return true
  }
}
