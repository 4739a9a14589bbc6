import { DAY_S } from '../calendar/calendar.js'
import { ChangeEffectSum } from './change-effect-sum.js'
import type { ClockChange } from '../zone/change-table.js'
import type { Pattern } from '../calendar/pattern.js'
import type { Gap, Overlap } from '../zone/wall-clock.js'
import { ExceptPattern } from '../amend/except-pattern.js'
import type { Zone } from '../zone/zone.js'

// An exception at least this far from a change cannot affect it.
const NEAR_S = 3 * DAY_S

/**
 * How clock changes alter the number of occurrences of a pattern, compared with one for each local time. A
 * repeated local time may add one. A missing local time may remove one.
 *
 * Proven by test/schedule/countdown.test.ts.
 */
export class ChangeEffect {
  readonly #pattern: Pattern
  readonly #zone: Zone
  readonly #gap: Gap
  readonly #overlap: Overlap
  readonly #wholeSum: ChangeEffectSum

  constructor(pattern: Pattern, zone: Zone, gap: Gap, overlap: Overlap) {
    this.#pattern = pattern
    this.#zone = zone
    this.#gap = gap
    this.#overlap = overlap
    // The pattern without exceptions repeats over the years, so it can be summed quickly. Changes near an
    // exception are corrected one by one.
    const whole = pattern instanceof ExceptPattern ? pattern.whole : pattern
    this.#wholeSum = new ChangeEffectSum(zone, whole, (change) => this.#effectOf(change, whole))
  }

  /** Returns the sum for the changes after one epoch second and up to another. */
  between(after: number, until: number): number {
    const pattern = this.#pattern
    const sum = this.#wholeSum.between(after, until)
    if (!(pattern instanceof ExceptPattern)) return sum
    const changes = new Map<number, ClockChange>()
    for (const second of pattern.nearExceptions(after, until)) {
      const change = this.#zone.changeNear(second, NEAR_S)
      if (change !== undefined && change.at > after && change.at <= until) changes.set(change.at, change)
    }
    let amended = sum
    for (const change of changes.values()) {
      amended += this.#effectOf(change, pattern) - this.#effectOf(change, pattern.whole)
    }
    return amended
  }

  /** Returns the effect of one change. */
  of(change: ClockChange): number {
    return this.#effectOf(change, this.#pattern)
  }

  #effectOf(change: ClockChange, pattern: Pattern): number {
    const low = change.at + Math.min(change.before, change.after)
    const high = change.at + Math.max(change.before, change.after)
    if (!pattern.mayMatchBetween(low, high)) return 0
    return change.after < change.before
      ? this.#repeatedBetween(low, high, pattern)
      : -this.#lostBetween(low, high, pattern)
  }

  /** Counts the instants that an overlap adds. */
  #repeatedBetween(low: number, high: number, pattern: Pattern): number {
    return this.#overlap === 'both' ? pattern.count(low, high, Infinity) : 0
  }

  /** Counts the local times of a gap that have no instant of their own. */
  #lostBetween(low: number, high: number, pattern: Pattern): number {
    const missing = pattern.count(low, high, Infinity)
    if (missing === 0 || this.#gap === 'skip') return missing
    const names = (local: number) => pattern.count(local, local + 1, 1) > 0
    if (this.#gap === 'next') return names(high) ? missing : missing - 1
    let taken = 0
    let local = low - 1
    for (let i = 0; i < missing; i++) {
      local = pattern.firstFrom(local + 1)
      if (names(local + high - low)) taken++
    }
    return taken
  }
}
