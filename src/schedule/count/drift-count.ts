import { dayNumber, isLeapYear, modulo, yearOf } from '../calendar/calendar.js'
import type { PeriodStarts, MatchingDays } from './period-starts.js'
import type { Days } from '../calendar/month-days.js'
import { CYCLE_YEARS, kindsOfYears } from './year-kinds.js'

// `most` is checked only once in this many days. So few years hold few periods, and counting some too many
// costs little.
const SOME_DAYS = 3000

// The cost of a year apart from its windows.
const YEAR_STEPS = 3

/**
 * Counts, over centuries, periods that drift through the day and count only if they start on a matching day.
 * Which days match depends only on the kind of year. They are listed once per kind, in windows, and only
 * periods that start within a window are checked.
 *
 * Proven by test/schedule/drift-count.test.ts.
 */
export class DriftCount {
  readonly #days: Days
  readonly #starts: PeriodStarts
  readonly #daysByKind: (MatchingDays | undefined)[] = []

  /** The matches of `days` in a year must not depend on other years. With week numbers they do. */
  constructor(days: Days, starts: PeriodStarts) {
    this.#days = days
    this.#starts = starts
  }

  count(from: number, untilExclusive: number, most: number): number {
    const kinds = kindsOfYears(false)
    const daysByKind = this.#daysByKind
    const starts = this.#starts
    const someDays = starts.perDay > 1 ? 1 : SOME_DAYS
    const firstYear = yearOf(from)
    let yearStart = dayNumber(firstYear, 1, 1)
    let year = modulo(firstYear, CYCLE_YEARS)
    let count = 0
    while (yearStart < untilExclusive && count <= most) {
      // This loop runs for every year of several millennia. Keep it short.
      const end = Math.min(yearStart + someDays, untilExclusive)
      while (yearStart < end) {
        const kind = kinds[year]!
        const length = 365 + (kind & 1)
        const days = (daysByKind[kind] ??= this.#matchingDaysIn(yearStart, length))
        count += starts.countYear(yearStart, days, from, untilExclusive)
        yearStart += length
        year = (year + 1) % CYCLE_YEARS
      }
    }
    return count
  }

  /**
   * Finds the year of the first period from `from` on that starts on a matching day. Returns the later of
   * `from` and that year's first day, or Infinity.
   */
  dayBeforeFirst(from: number, untilExclusive: number): number {
    const kinds = kindsOfYears(false)
    const firstYear = yearOf(from)
    let yearStart = dayNumber(firstYear, 1, 1)
    let year = modulo(firstYear, CYCLE_YEARS)
    while (yearStart < untilExclusive) {
      const kind = kinds[year]!
      const end = yearStart + 365 + (kind & 1)
      const days = (this.#daysByKind[kind] ??= this.#matchingDaysIn(yearStart, end - yearStart))
      if (this.#starts.countYear(yearStart, days, from, end) > 0) return Math.max(from, yearStart)
      yearStart = end
      year = (year + 1) % CYCLE_YEARS
    }
    return Infinity
  }

  /** Estimates the year of a day: how many days match, and about how many steps counting takes. */
  estimateFor(day: number): { readonly matchingDays: number; readonly steps: number } {
    const year = yearOf(day)
    const yearStart = dayNumber(year, 1, 1)
    const { windows, isSolid, isMatch } = this.#matchingDaysIn(yearStart, isLeapYear(year) ? 366 : 365)
    const { perDay, windowCost } = this.#starts
    let inWindows = 0
    for (let i = 0; i < windows.length; i += 2) inWindows += windows[i + 1]! - windows[i]!
    const looked = isSolid && windowCost === 1 ? 0 : inWindows * perDay
    return {
      matchingDays: isMatch.reduce((sum, is) => sum + is, 0),
      steps: YEAR_STEPS + (windows.length / 2) * windowCost + looked,
    }
  }

  #matchingDaysIn(yearStart: number, length: number): MatchingDays {
    const { perDay, windowCost } = this.#starts
    const widest = windowCost / perDay
    const isMatch = new Uint8Array(length)
    const windows: number[] = []
    let isSolid = true
    let end = -Infinity
    let day = this.#days.firstFrom(yearStart) - yearStart
    for (; day < length; day = this.#days.firstFrom(yearStart + day + 1) - yearStart) {
      isMatch[day] = 1
      if (day - end > widest) {
        if (windows.length > 0) windows.push(end)
        windows.push(day)
      } else if (day > end) isSolid = false
      end = day + 1
    }
    if (windows.length > 0) windows.push(end)
    return { windows: Int16Array.from(windows), isSolid, isMatch }
  }
}
