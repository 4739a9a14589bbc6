import { DAY_S } from './calendar.js'
import { ChangeSum } from './change-sum.js'
import type { Change } from './change-table.js'
import type { Pattern } from './pattern.js'
import type { Gap, Overlap } from './wall-clock.js'
import { Without } from './without.js'
import type { Zone } from './zone.js'

// What is left out this far from a change has nothing to do with it.
const NEAR_S = 3 * DAY_S

/**
 * How many instants the changes of a zone's clocks make of the local times of a pattern, beyond one for each: more
 * where local times come twice and count twice, fewer where they are missing.
 */
export class ChangeWorth {
  readonly #pattern: Pattern
  readonly #zone: Zone
  readonly #gap: Gap
  readonly #overlap: Overlap
  readonly #sum: ChangeSum

  constructor(pattern: Pattern, zone: Zone, gap: Gap, overlap: Overlap) {
    this.#pattern = pattern
    this.#zone = zone
    this.#gap = gap
    this.#overlap = overlap
    // A whole pattern comes again with the years; where something is left out of it a change is looked at anew.
    const whole = pattern instanceof Without ? pattern.whole : pattern
    this.#sum = new ChangeSum(zone, whole, (change) => this.#worthOf(change, whole))
  }

  /** The sum over the changes after one epoch second and up to another. */
  between(after: number, until: number): number {
    const pattern = this.#pattern
    const sum = this.#sum.between(after, until)
    if (!(pattern instanceof Without)) return sum
    const changes = new Map<number, Change>()
    for (const second of pattern.near(after, until)) {
      const change = this.#zone.changeNear(second, NEAR_S)
      if (change !== undefined && change.at > after && change.at <= until) changes.set(change.at, change)
    }
    let amended = sum
    for (const change of changes.values()) {
      amended += this.#worthOf(change, pattern) - this.#worthOf(change, pattern.whole)
    }
    return amended
  }

  /** The same for one change. */
  of(change: Change): number {
    return this.#worthOf(change, this.#pattern)
  }

  #worthOf(change: Change, pattern: Pattern): number {
    const low = change.at + Math.min(change.before, change.after)
    const high = change.at + Math.max(change.before, change.after)
    if (!pattern.mayBeIn(low, high)) return 0
    return change.after < change.before
      ? this.#addedBetween(low, high, pattern)
      : -this.#takenBetween(low, high, pattern)
  }

  /** How many instants are added where local times come again. */
  #addedBetween(low: number, high: number, pattern: Pattern): number {
    return this.#overlap === 'both' ? pattern.count(low, high, Infinity) : 0
  }

  /** How many local times have no instant of their own where some are missing. */
  #takenBetween(low: number, high: number, pattern: Pattern): number {
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
