import { DAY_S } from '../calendar/calendar.js'
import type { Pattern } from '../calendar/pattern.js'

/** Local times and whole local days that are removed from a pattern or added to it. Both ascending. */
export interface LocalTimesAndDays {
  readonly times: readonly number[]
  readonly days: readonly number[]
}

// Local time is always closer to UTC than this, and every gap or overlap is shorter.
const NEAR_S = 3 * DAY_S

/**
 * A pattern without certain local times and days.
 *
 * Proven by test/schedule/rrule-amendments.test.ts.
 */
export class ExceptPattern implements Pattern {
  readonly isAtLeastADayApart: boolean
  readonly yearPeriod = 0
  /** The pattern before the exceptions. */
  readonly whole: Pattern
  readonly #times: readonly number[]
  readonly #timeSet: ReadonlySet<number>
  readonly #days: ReadonlySet<number>

  constructor(pattern: Pattern, left: LocalTimesAndDays) {
    this.isAtLeastADayApart = pattern.isAtLeastADayApart
    this.whole = pattern
    this.#days = new Set(left.days)
    this.#times = left.times.filter((local) => !this.#days.has(Math.floor(local / DAY_S)))
    this.#timeSet = new Set(this.#times)
  }

  firstFrom(local: number): number {
    let found = this.whole.firstFrom(local)
    while (found !== Infinity) {
      const day = Math.floor(found / DAY_S)
      if (this.#days.has(day)) found = this.whole.firstFrom((day + 1) * DAY_S)
      else if (this.#timeSet.has(found)) found = this.whole.firstFrom(found + 1)
      else break
    }
    return found
  }

  mayMatchBetween(from: number, untilExclusive: number): boolean {
    return this.whole.mayMatchBetween(from, untilExclusive)
  }

  mayMatchInYearKind(from: number, untilExclusive: number): boolean {
    return this.whole.mayMatchInYearKind(from, untilExclusive)
  }

  mayMatchTimesOfDay(from: number, untilExclusive: number): boolean {
    return this.whole.mayMatchTimesOfDay(from, untilExclusive)
  }

  /** Returns an epoch second near each exception between two epoch seconds. */
  nearExceptions(after: number, until: number): number[] {
    const middles = [...this.#times, ...[...this.#days].map((day) => (day + 0.5) * DAY_S)]
    return middles.filter((local) => local > after - NEAR_S && local < until + NEAR_S)
  }

  count(from: number, untilExclusive: number, most: number): number {
    if (!(from < untilExclusive)) return 0
    let left = 0
    for (const local of this.#times) {
      if (local >= from && local < untilExclusive && this.whole.count(local, local + 1, 1) > 0) left++
    }
    for (const day of this.#days) {
      const start = Math.max(day * DAY_S, from)
      const end = Math.min((day + 1) * DAY_S, untilExclusive)
      if (start < end) left += this.whole.count(start, end, Infinity)
    }
    return this.whole.count(from, untilExclusive, most + left) - left
  }

  /**
   * Returns the local times in a range that the pattern matches and the exceptions leave out, at most `most` of
   * them. For a day that is left out, it returns only the first time of that day.
   */
  leftOut(from: number, untilExclusive: number, most: number): number[] {
    const found: number[] = []
    for (const local of this.#times) {
      if (local >= from && local < untilExclusive && this.whole.firstFrom(local) === local) found.push(local)
    }
    for (const day of this.#days) {
      const local = this.whole.firstFrom(Math.max(day * DAY_S, from))
      if (local < Math.min((day + 1) * DAY_S, untilExclusive)) found.push(local)
    }
    return found.sort((a, b) => a - b).slice(0, most)
  }
}

/** Local times given one by one, ascending. */
export class ListedLocalTimes implements Pattern {
  readonly isAtLeastADayApart = false
  readonly yearPeriod = 0
  readonly #locals: readonly number[]

  constructor(locals: readonly number[]) {
    this.#locals = locals
  }

  firstFrom(local: number): number {
    return this.#locals.find((candidate) => candidate >= local) ?? Infinity
  }

  mayMatchBetween(from: number, untilExclusive: number): boolean {
    return this.count(from, untilExclusive) > 0
  }

  mayMatchInYearKind(): boolean {
    return true
  }

  mayMatchTimesOfDay(): boolean {
    return true
  }

  count(from: number, untilExclusive: number): number {
    return this.#locals.filter((local) => local >= from && local < untilExclusive).length
  }
}
