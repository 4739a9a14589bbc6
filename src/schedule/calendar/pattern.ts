import { DAY_S } from './calendar.js'
import type { Days } from './month-days.js'
import { hasTimeBetween, type TimesOfDay } from './time-of-day.js'

/**
 * The local times that a schedule matches: seconds since 1970-01-01 00:00 by the clocks on the wall. A
 * pattern knows nothing about zones, gaps and overlaps: `WallClock` handles those.
 */
export interface Pattern {
  /** Returns the first match at or after `local`, or Infinity. */
  firstFrom(local: number): number
  /**
   * Counts the matches from one local time up to another. Above `most`, the result may be any number greater
   * than `most`.
   */
  count(from: number, untilExclusive: number, most: number): number
  /**
   * Returns false only if nothing matches from one local time up to another, at most a day later. True may be
   * wrong. It is fast even for rare matches.
   */
  mayMatchBetween(from: number, untilExclusive: number): boolean
  /**
   * Returns false only if nothing matches in this range, nor in the same range of any year of the same kind.
   * True may be wrong.
   */
  mayMatchInYearKind(from: number, untilExclusive: number): boolean
  /**
   * Returns false only if nothing ever matches between these two times of day. The second may belong to the
   * next day. True may be wrong.
   */
  mayMatchTimesOfDay(from: number, untilExclusive: number): boolean
  /** Roughly where the matches are, if they come in steps. */
  readonly grid?: Grid | undefined
  /** Whether any two matches are at least a day apart. */
  readonly isAtLeastADayApart: boolean
  /**
   * Two years of the same kind have the same matches if their numbers differ by a multiple of this. It is 1 if
   * all years of a kind have the same matches, and 0 if they need not repeat. Years are of the same kind if they
   * begin on the same weekday and have the same length, and their neighbours do, too.
   */
  readonly yearPeriod: number
}

/**
 * Every match lies from 0 to `span` seconds after `base`, or after `base` plus or minus a multiple of `step`.
 */
export interface Grid {
  readonly base: number
  readonly step: number
  readonly span: number
}

/** Whether a day between two local times may match in years of the same kind. */
export function mayMatchDaysInYearKind(days: Days, from: number, untilExclusive: number): boolean {
  if (days.mayMatchInYearKind === undefined) return true
  const lastDay = Math.floor((untilExclusive - 1) / DAY_S)
  for (let day = Math.floor(from / DAY_S); day <= lastDay; day++)
    if (days.mayMatchInYearKind(day)) return true
  return false
}

/**
 * Certain times on certain days.
 *
 * Proven by test/schedule/may-match.test.ts and test/schedule/walk.test.ts.
 */
export class DayTimes implements Pattern {
  readonly isAtLeastADayApart: boolean
  readonly yearPeriod: number
  readonly grid: Grid | undefined
  readonly #days: Days
  readonly #times: TimesOfDay

  constructor(days: Days, times: TimesOfDay) {
    this.#days = days
    this.#times = times
    this.isAtLeastADayApart = times.count === 1
    this.yearPeriod = days.yearPeriod
    if (days.dayGrid !== undefined) {
      const { base, step, span } = days.dayGrid
      this.grid = { base: base * DAY_S, step: step * DAY_S, span: (span + 1) * DAY_S - 1 }
    }
  }

  firstFrom(local: number): number {
    const day = Math.floor(local / DAY_S)
    const time = this.#times.firstFrom(local - day * DAY_S)
    if (time < 0) return this.#startOf(this.#days.firstFrom(day + 1))
    const found = this.#days.firstFrom(day)
    return found === day ? day * DAY_S + time : this.#startOf(found)
  }

  mayMatchBetween(from: number, untilExclusive: number): boolean {
    const day = Math.floor(from / DAY_S)
    const lastDay = Math.floor((untilExclusive - 1) / DAY_S)
    // Check only the days, and use `includes`: it does not search for later matches, as `firstFrom` would.
    return this.#days.includes(day) || (lastDay > day && this.#days.includes(lastDay))
  }

  mayMatchInYearKind(from: number, untilExclusive: number): boolean {
    return mayMatchDaysInYearKind(this.#days, from, untilExclusive)
  }

  mayMatchTimesOfDay(from: number, untilExclusive: number): boolean {
    return hasTimeBetween(this.#times, from, untilExclusive)
  }

  count(from: number, untilExclusive: number, most: number): number {
    const first = Math.floor(from / DAY_S)
    const last = Math.floor(untilExclusive / DAY_S)
    const { count } = this.#times
    const days = last > first ? this.#days.count(first, last, most / count + 1) : 0
    return days * count - this.#countOn(first, from) + this.#countOn(last, untilExclusive)
  }

  /** Counts the matches of a day before a local time of that day. */
  #countOn(day: number, untilExclusive: number): number {
    return this.#days.includes(day) ? this.#times.countBefore(untilExclusive - day * DAY_S) : 0
  }

  #startOf(day: number): number {
    return day * DAY_S + this.#times.earliest
  }
}
