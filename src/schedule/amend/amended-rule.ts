import { NEVER } from '../horizon.js'
import type { Rule } from '../rule.js'
import type { RuleJson } from '../schedule-json.js'
import type { WallClock } from '../zone/wall-clock.js'
import type { Zone } from '../zone/zone.js'

export interface RuleAmendments {
  /** Instants that do not occur, whether they come from the rule or from an addition. Epoch milliseconds. */
  readonly removed: readonly number[]
  /** Local times that occur in addition to the rule's. */
  readonly added: WallClock | undefined
  /** Instants that occur in addition to the rule's, ascending. */
  readonly addedInstants: readonly number[]
}

/**
 * A rule with single instants removed and added. Additions do not count towards the rule's own limits.
 *
 * Proven by test/schedule/rrule-amendments.test.ts.
 */
export class AmendedRule implements Rule {
  readonly zone: Zone
  readonly startsAt: number
  readonly #rule: Rule
  readonly #removed: ReadonlySet<number>
  readonly #added: WallClock | undefined
  readonly #addedInstants: readonly number[]

  constructor(rule: Rule, amendments: RuleAmendments) {
    this.zone = rule.zone
    this.startsAt = rule.startsAt
    this.#rule = rule
    this.#removed = new Set(amendments.removed)
    this.#added = amendments.added
    this.#addedInstants = amendments.addedInstants
  }

  next(after: number): number {
    let at = after
    do at = Math.min(this.#rule.next(at), this.#nextAdded(at))
    while (this.#removed.has(at))
    return at
  }

  /**
   * Counts the rule's own occurrences only. `times` cannot be combined with additions, so nobody counts
   * those.
   */
  count(after: number, at: number, most: number): number {
    let removed = 0
    for (const instant of this.#removed) {
      if (instant > after && instant <= at && this.#rule.next(instant - 1) === instant) removed++
    }
    return this.#rule.count(after, at, most + removed) - removed
  }

  reasons(after: number, at: number): string[] {
    const own = this.#rule.next(at - 1) === at ? this.#rule.reasons(after, at) : ['added to the rule']
    const removed = [...this.#removed].filter(
      (instant) => instant > after && instant < at && this.#rule.next(instant - 1) === instant,
    )
    return [...removed.slice(0, 3).map((instant) => `${new Date(instant).toISOString()} is left out`), ...own]
  }

  describe(): string {
    return this.#rule.describe()
  }

  toJSON(): RuleJson {
    return this.#rule.toJSON()
  }

  #nextAdded(after: number): number {
    const instant = this.#addedInstants.find((candidate) => candidate > after) ?? NEVER
    return Math.min(this.#added?.next(after) ?? NEVER, instant)
  }
}
