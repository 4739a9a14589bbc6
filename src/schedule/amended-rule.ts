import { NEVER } from './horizon.js'
import type { Rule } from './rule.js'
import type { RuleJson } from './schedule-json.js'
import type { WallClock } from './wall-clock.js'
import type { Zone } from './zone.js'

export interface RuleAmendments {
  /** Instants that do not occur, whoever names them: epoch milliseconds. */
  readonly removed: readonly number[]
  /** Local times that occur beside those of the rule. */
  readonly added: WallClock | undefined
  /** Instants that do, ascending. */
  readonly addedInstants: readonly number[]
}

/** A rule with single instants taken out and put in. What is put in does not count for the rule's own limits. */
export class AmendedRule implements Rule {
  readonly zone: Zone
  readonly from: number
  readonly #rule: Rule
  readonly #removed: ReadonlySet<number>
  readonly #added: WallClock | undefined
  readonly #addedInstants: readonly number[]

  constructor(rule: Rule, amendments: RuleAmendments) {
    this.zone = rule.zone
    this.from = rule.from
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

  /** Counts the rule's own occurrences: schedules with added ones take no `times`. */
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
