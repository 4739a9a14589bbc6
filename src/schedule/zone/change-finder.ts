import { DAY_S, modulo } from '../calendar/calendar.js'

/** Whether a zone has this offset at an epoch second. The answer may be slow. */
export type HasOffset = (second: number, offset: number) => boolean

const QUARTER_S = 900

// Most governments change clocks at midnight, 02:00 or 03:00. Other times are rare.
const RECENT_TIMES = 4

const NONE: readonly number[] = []

/**
 * Finds one change of a zone's offset between two instants, with as few probes as possible. It tries the
 * caller's guesses first. Then it looks for the day, assuming the time of day of an earlier change, and last
 * for the second within the day. Every probe narrows the range, so a wrong guess costs one probe and nothing
 * else.
 *
 * Proven by test/schedule/change-finder.test.ts.
 */
export class ChangeFinder {
  readonly #hasOffset: HasOffset
  /** Local times of day at which earlier changes came, by the clocks before the change. Latest first. */
  readonly #recentTimes: number[] = []
  /** The same time of day, for the latest change away from each offset. */
  readonly #timeByOffset = new Map<number, number>()

  constructor(hasOffset: HasOffset) {
    this.#hasOffset = hasOffset
  }

  /**
   * Returns the first second after `before`, and not after `after`, at which the offset is no longer
   * `offset`.
   */
  find(before: number, after: number, offset: number, guesses: readonly number[] = NONE): number {
    const at = this.#search(before, after, offset, guesses)
    const time = modulo(at + offset, DAY_S)
    if (this.#timeByOffset.get(offset) !== time) {
      this.#timeByOffset.set(offset, time)
      const known = this.#recentTimes.indexOf(time)
      this.#recentTimes.splice(known < 0 ? RECENT_TIMES - 1 : known, 1)
      this.#recentTimes.unshift(time)
    }
    return at
  }

  #search(before: number, after: number, offset: number, guesses: readonly number[]): number {
    const hasOffset = this.#hasOffset
    // Invariant: the change comes after `same`, and not after `changed`.
    let same = before
    let changed = after
    for (const guess of guesses) {
      if (guess <= same || guess > changed) continue
      if (guess < changed && hasOffset(guess, offset)) same = guess
      else if (guess - 1 === same || hasOffset(guess - 1, offset)) return guess
      else changed = guess - 1
    }
    const time = (this.#timeByOffset.get(offset) ?? this.#recentTimes[0] ?? 0) - offset
    let low = Math.floor((same - time) / DAY_S)
    let high = Math.ceil((changed - time) / DAY_S)
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (hasOffset(middle * DAY_S + time, offset)) low = middle
      else high = middle
    }
    same = Math.max(low * DAY_S + time, same)
    changed = Math.min(high * DAY_S + time, changed)
    if (changed - 1 === same || hasOffset(changed - 1, offset)) return changed
    changed--
    for (const other of this.#recentTimes) {
      const guess = changed - modulo(changed + offset - other, DAY_S)
      if (guess <= same) continue
      if (guess < changed && hasOffset(guess, offset)) same = guess
      else if (guess - 1 === same || hasOffset(guess - 1, offset)) return guess
      else changed = guess - 1
    }
    return this.#searchDay(same, changed, offset)
  }

  #searchDay(before: number, after: number, offset: number): number {
    const hasOffset = this.#hasOffset
    // Nearly all changes come on a quarter of an hour. Searching those first takes half the probes.
    let low = Math.floor(before / QUARTER_S)
    let high = Math.ceil(after / QUARTER_S)
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (hasOffset(middle * QUARTER_S, offset)) low = middle
      else high = middle
    }
    let same = Math.max(low * QUARTER_S, before)
    let changed = Math.min(high * QUARTER_S, after)
    if (hasOffset(changed - 1, offset)) return changed
    while (changed - same > 1) {
      const middle = Math.floor((same + changed) / 2)
      if (hasOffset(middle, offset)) same = middle
      else changed = middle
    }
    return changed
  }
}
