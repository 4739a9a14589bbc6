import type { RuleJson } from './schedule-json.js'
import type { Zone } from './zone.js'

/**
 * When something occurs, without the terms of the schedule around it. A rule is pure: it answers the same for
 * the same instant whatever was asked before.
 */
export interface Rule {
  readonly zone: Zone
  /** The instant the rule itself begins, or -Infinity. */
  readonly from: number
  /** The first occurrence strictly later than `after` (whole epoch milliseconds), or `NEVER`. */
  next(after: number): number
  /** How many occurrences lie after `after` and up to the one at `at`; above `most` it need not be exact. */
  count(after: number, at: number, most: number): number
  /** Why the occurrence at `at`, the first after `after`, is not just what was written; mostly empty. */
  reasons(after: number, at: number): string[]
  describe(): string
  toJSON(): RuleJson
}
