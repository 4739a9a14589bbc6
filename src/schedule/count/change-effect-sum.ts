import { DAY_S, dayNumber, modulo, yearOf } from '../calendar/calendar.js'
import type { ClockChange } from '../zone/change-table.js'
import { YearKindCount } from './year-kind-count.js'
import type { Grid, Pattern } from '../calendar/pattern.js'
import { CYCLE_YEARS, kindsOfYears } from './year-kinds.js'
import type { Zone } from '../zone/zone.js'

/** A clock change and the local times `low` to `high` that it skips or repeats, in seconds from the start of its year. */
interface ChangeWindow extends ClockChange {
  readonly low: number
  readonly high: number
}

const ANYWHERE: Grid = { base: 0, step: DAY_S, span: DAY_S }

/**
 * Sums the effect of each clock change between two instants on a pattern. It ignores changes at times of day
 * that the pattern never matches. Under the zone's yearly rule it works by kinds of years. If the pattern
 * repeats as well, it computes each kind once. Otherwise the kind only tells which changes cannot matter.
 *
 * Proven by test/schedule/change-effect-sum.test.ts.
 */
export class ChangeEffectSum {
  readonly #zone: Zone
  readonly #pattern: Pattern
  readonly #effectOf: (change: ClockChange) => number
  readonly #yearKindCount: YearKindCount
  readonly #mayMatter = new Map<number, boolean>()
  readonly #windowsByKind: (readonly ChangeWindow[] | undefined)[] = []

  constructor(zone: Zone, pattern: Pattern, effectOf: (change: ClockChange) => number) {
    this.#zone = zone
    this.#pattern = pattern
    this.#effectOf = effectOf
    this.#yearKindCount = new YearKindCount(
      (from, untilExclusive) => this.#sum(from * DAY_S - 1, untilExclusive * DAY_S - 1),
      Math.max(pattern.yearPeriod, 1),
    )
  }

  /** Returns the sum for the changes after one epoch second and up to another. */
  between(after: number, until: number): number {
    const firstYear = Math.max(yearOf(Math.ceil((after + 1) / DAY_S) - 1) + 1, this.#zone.yearlyFrom)
    const lastYear = yearOf(Math.floor((until + 1) / DAY_S))
    if (lastYear <= firstYear) return this.#sum(after, until)
    const firstDay = dayNumber(firstYear, 1, 1)
    const lastDay = dayNumber(lastYear, 1, 1)
    return (
      this.#sum(after, firstDay * DAY_S - 1) +
      (this.#pattern.yearPeriod === 0
        ? this.#sumYears(firstYear, lastYear)
        : this.#yearKindCount.count(firstDay, lastDay, Infinity)) +
      this.#sum(lastDay * DAY_S - 1, until)
    )
  }

  #sum(after: number, until: number): number {
    let sum = 0
    const lastYear = yearOf(Math.floor(until / DAY_S))
    for (let year = yearOf(Math.floor((after + 1) / DAY_S)); year <= lastYear; year++) {
      for (const change of this.#zone.changesIn(year)) {
        if (change.at > after && change.at <= until && this.#matters(change)) sum += this.#effectOf(change)
      }
    }
    return sum
  }

  /** Returns the sum for whole years under the yearly rule. */
  #sumYears(firstYear: number, lastYear: number): number {
    const kinds = kindsOfYears(false)
    const windows = this.#windowsByKind
    const pattern = this.#pattern
    const { base, step, span } = pattern.grid ?? ANYWHERE
    let start = dayNumber(firstYear, 1, 1) * DAY_S
    let sum = 0
    // This loop runs for every year of several millennia. Keep it short.
    for (let year = firstYear; year < lastYear; year++) {
      // By now every kind of year has been seen.
      if (year === firstYear + CYCLE_YEARS && windows.every((ofKind) => ofKind!.length === 0)) break
      const kind = kinds[year % CYCLE_YEARS]!
      for (const { low, high, at, before, after } of (windows[kind] ??= this.#windowsOf(year, start))) {
        const latest = base + (Math.ceil((start + high - base) / step) - 1) * step
        if (latest + span < start + low || !pattern.mayMatchBetween(start + low, start + high)) continue
        sum += this.#effectOf({ at: start + at, before, after })
      }
      start += (365 + (kind & 1)) * DAY_S
    }
    return sum
  }

  #windowsOf(year: number, start: number): readonly ChangeWindow[] {
    const windows: ChangeWindow[] = []
    for (const change of this.#zone.changesIn(year)) {
      if (!this.#matters(change)) continue
      const { at, before, after } = change
      const low = at + Math.min(before, after)
      const high = at + Math.max(before, after)
      // The kind of a year mostly shows that the pattern does not match on the days of its changes. At the
      // ends of a year the range may reach into another year, so the kind says nothing.
      const isWithin = low >= start + DAY_S && high < start + 364 * DAY_S
      if (isWithin && !this.#pattern.mayMatchInYearKind(low, high)) continue
      windows.push({ at: at - start, before, after, low: low - start, high: high - start })
    }
    return windows
  }

  /** Whether the pattern may match at the times of day that a change skips or repeats. */
  #matters({ at, before, after }: ClockChange): boolean {
    const low = modulo(at + Math.min(before, after), DAY_S)
    const length = Math.abs(after - before)
    const window = low * DAY_S + length
    let matters = this.#mayMatter.get(window)
    if (matters === undefined) {
      matters = this.#pattern.mayMatchTimesOfDay(low, low + length)
      this.#mayMatter.set(window, matters)
    }
    return matters
  }
}
