import { dayNumber, isLeapYear, modulo, yearOf } from './calendar.js'
import type { Beginnings, NamedDays } from './beginnings.js'
import type { Days } from './month-days.js'
import { CYCLE_YEARS, kindsOfYears } from './year-kinds.js'

// Some years that hold few enough not to matter if that is more than is asked for.
const SOME_DAYS = 3000

// What a year takes beside its windows.
const YEAR_STEPS = 3

/**
 * Counts over centuries periods that drift through the days, and count if they begin on a named one. Which days are
 * named depends on nothing but the kind of a year: they are listed once for each, in windows, and only what begins
 * in a window is looked at.
 */
export class DriftCount {
  readonly #days: Days
  readonly #beginnings: Beginnings
  readonly #ofKind: (NamedDays | undefined)[] = []

  /** What `days` names in a year must not depend on other years: week numbers do. */
  constructor(days: Days, beginnings: Beginnings) {
    this.#days = days
    this.#beginnings = beginnings
  }

  count(from: number, untilExclusive: number, most: number): number {
    const kinds = kindsOfYears(false)
    const ofKind = this.#ofKind
    const beginnings = this.#beginnings
    const someDays = beginnings.perDay > 1 ? 1 : SOME_DAYS
    const firstYear = yearOf(from)
    let yearStart = dayNumber(firstYear, 1, 1)
    let year = modulo(firstYear, CYCLE_YEARS)
    let count = 0
    while (yearStart < untilExclusive && count <= most) {
      // This loop runs for every year of millennia: there is nothing in it that need not be.
      const end = Math.min(yearStart + someDays, untilExclusive)
      while (yearStart < end) {
        const kind = kinds[year]!
        const length = 365 + (kind & 1)
        const days = (ofKind[kind] ??= this.#namedIn(yearStart, length))
        count += beginnings.countYear(yearStart, days, from, untilExclusive)
        yearStart += length
        year = (year + 1) % CYCLE_YEARS
      }
    }
    return count
  }

  /** A day from `from` on, shortly after which a period begins on a named day, the first such one; or Infinity. */
  dayBeforeFirst(from: number, untilExclusive: number): number {
    const kinds = kindsOfYears(false)
    const firstYear = yearOf(from)
    let yearStart = dayNumber(firstYear, 1, 1)
    let year = modulo(firstYear, CYCLE_YEARS)
    while (yearStart < untilExclusive) {
      const kind = kinds[year]!
      const end = yearStart + 365 + (kind & 1)
      const days = (this.#ofKind[kind] ??= this.#namedIn(yearStart, end - yearStart))
      if (this.#beginnings.countYear(yearStart, days, from, end) > 0) return Math.max(from, yearStart)
      yearStart = end
      year = (year + 1) % CYCLE_YEARS
    }
    return Infinity
  }

  /** What the year of a day is like: how many days are named, and about how many steps it takes to count on them. */
  sampleOf(day: number): { readonly named: number; readonly steps: number } {
    const year = yearOf(day)
    const yearStart = dayNumber(year, 1, 1)
    const { windows, isSolid, named } = this.#namedIn(yearStart, isLeapYear(year) ? 366 : 365)
    const { perDay, windowCost } = this.#beginnings
    let inWindows = 0
    for (let i = 0; i < windows.length; i += 2) inWindows += windows[i + 1]! - windows[i]!
    const looked = isSolid && windowCost === 1 ? 0 : inWindows * perDay
    return {
      named: named.reduce((sum, is) => sum + is, 0),
      steps: YEAR_STEPS + (windows.length / 2) * windowCost + looked,
    }
  }

  #namedIn(yearStart: number, length: number): NamedDays {
    const { perDay, windowCost } = this.#beginnings
    const widest = windowCost / perDay
    const named = new Uint8Array(length)
    const windows: number[] = []
    let isSolid = true
    let end = -Infinity
    let day = this.#days.firstFrom(yearStart) - yearStart
    for (; day < length; day = this.#days.firstFrom(yearStart + day + 1) - yearStart) {
      named[day] = 1
      if (day - end > widest) {
        if (windows.length > 0) windows.push(end)
        windows.push(day)
      } else if (day > end) isSolid = false
      end = day + 1
    }
    if (windows.length > 0) windows.push(end)
    return { windows: Int16Array.from(windows), isSolid, named }
  }
}
