import type { RuleJson } from './schedule-json.js'
import type { Zone } from './zone/zone.js'

/**
 * Computes when something occurs, without the terms of a schedule. A rule is pure: the same argument always
 * gives the same result.
 */
export interface Rule {
  readonly zone: Zone
  /** The instant at which the rule itself begins, or -Infinity. */
  readonly startsAt: number
  /**
   * Returns the first occurrence strictly later than `after` (an integer, epoch milliseconds), or `NEVER`.
   */
  next(after: number): number
  /**
   * Counts the occurrences after `after` and up to the one at `at`. Above `most`, the result may be any
   * number greater than `most`.
   */
  count(after: number, at: number, most: number): number
  /**
   * Explains why the occurrence at `at` differs from what the rule says literally. `after` is the occurrence
   * before it. Usually empty.
   */
  reasons(after: number, at: number): string[]
  describe(): string
  toJSON(): RuleJson
}
