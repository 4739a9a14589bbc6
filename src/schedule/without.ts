import { DAY_S } from './calendar.js'
import type { Pattern } from './pattern.js'

/** Local times, and whole local days, that are left out of a pattern or added to it; both ascending. */
export interface Locals {
  readonly times: readonly number[]
  readonly days: readonly number[]
}

// Local time is never this far from UTC, nor a change of clocks this long.
const NEAR_S = 3 * DAY_S

/** A pattern without certain local times and days. */
export class Without implements Pattern {
  readonly daysApart: boolean
  readonly yearPeriod = 0
  /** The pattern from which they are left out. */
  readonly whole: Pattern
  readonly #times: readonly number[]
  readonly #timeSet: ReadonlySet<number>
  readonly #days: ReadonlySet<number>

  constructor(pattern: Pattern, left: Locals) {
    this.daysApart = pattern.daysApart
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

  mayBeIn(from: number, untilExclusive: number): boolean {
    return this.whole.mayBeIn(from, untilExclusive)
  }

  mayBeInKind(from: number, untilExclusive: number): boolean {
    return this.whole.mayBeInKind(from, untilExclusive)
  }

  mayBeAt(from: number, untilExclusive: number): boolean {
    return this.whole.mayBeAt(from, untilExclusive)
  }

  /** An instant, in epoch seconds, near each piece of local time that is left out between two of them. */
  near(after: number, until: number): number[] {
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

  /** What of the pattern is left out from one local time up to another, as far as `most` tell. */
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

/** Local times that were listed one by one, ascending. */
export class ListedLocals implements Pattern {
  readonly daysApart = false
  readonly yearPeriod = 0
  readonly #locals: readonly number[]

  constructor(locals: readonly number[]) {
    this.#locals = locals
  }

  firstFrom(local: number): number {
    return this.#locals.find((candidate) => candidate >= local) ?? Infinity
  }

  mayBeIn(from: number, untilExclusive: number): boolean {
    return this.count(from, untilExclusive) > 0
  }

  mayBeInKind(): boolean {
    return true
  }

  mayBeAt(): boolean {
    return true
  }

  count(from: number, untilExclusive: number): number {
    return this.#locals.filter((local) => local >= from && local < untilExclusive).length
  }
}
