import { DAY_S } from './calendar.js'
import type { Pattern } from './pattern.js'

/** Local times, and whole local days, that are left out of a pattern or added to it; both ascending. */
export interface Locals {
  readonly times: readonly number[]
  readonly days: readonly number[]
}

/** A pattern without certain local times and days. */
export class Without implements Pattern {
  readonly daysApart: boolean
  readonly yearPeriod: number
  readonly #pattern: Pattern
  readonly #times: readonly number[]
  readonly #timeSet: ReadonlySet<number>
  readonly #days: ReadonlySet<number>

  /** `periodicFrom` is the local time from which anybody relies on the period of years. */
  constructor(pattern: Pattern, left: Locals, periodicFrom: number) {
    this.daysApart = pattern.daysApart
    this.#pattern = pattern
    this.#days = new Set(left.days)
    this.#times = left.times.filter((local) => !this.#days.has(Math.floor(local / DAY_S)))
    this.#timeSet = new Set(this.#times)
    const last = Math.max(left.times.at(-1) ?? -Infinity, ((left.days.at(-1) ?? -Infinity) + 1) * DAY_S)
    this.yearPeriod = last < periodicFrom ? pattern.yearPeriod : 0
  }

  firstFrom(local: number): number {
    let found = this.#pattern.firstFrom(local)
    while (found !== Infinity) {
      const day = Math.floor(found / DAY_S)
      if (this.#days.has(day)) found = this.#pattern.firstFrom((day + 1) * DAY_S)
      else if (this.#timeSet.has(found)) found = this.#pattern.firstFrom(found + 1)
      else break
    }
    return found
  }

  mayBeIn(from: number, untilExclusive: number): boolean {
    return this.#pattern.mayBeIn?.(from, untilExclusive) ?? true
  }

  count(from: number, untilExclusive: number, most: number): number {
    if (!(from < untilExclusive)) return 0
    let left = 0
    for (const local of this.#times) {
      if (local >= from && local < untilExclusive && this.#pattern.firstFrom(local) === local) left++
    }
    for (const day of this.#days) {
      const start = Math.max(day * DAY_S, from)
      const end = Math.min((day + 1) * DAY_S, untilExclusive)
      if (start < end) left += this.#pattern.count(start, end, Infinity)
    }
    return this.#pattern.count(from, untilExclusive, most + left) - left
  }

  /** What of the pattern is left out from one local time up to another, as far as `most` tell. */
  leftOut(from: number, untilExclusive: number, most: number): number[] {
    const found: number[] = []
    for (const local of this.#times) {
      if (local >= from && local < untilExclusive && this.#pattern.firstFrom(local) === local)
        found.push(local)
    }
    for (const day of this.#days) {
      const local = this.#pattern.firstFrom(Math.max(day * DAY_S, from))
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

  count(from: number, untilExclusive: number): number {
    return this.#locals.filter((local) => local >= from && local < untilExclusive).length
  }
}
