import { DAY_S } from './calendar.js'
import type { Days } from './month-days.js'
import { hasTimeBetween, type TimesOfDay } from './time-of-day.js'

/**
 * The local times a schedule names, as if every zone were UTC: seconds since 1970-01-01 00:00 on the wall.
 * Zones, gaps and overlaps are someone else's business.
 */
export interface Pattern {
  /** The first local time at or after `local`, or Infinity when there is none. */
  firstFrom(local: number): number
  /** How many there are from one local time up to another; when there are more than `most`, any number above it. */
  count(from: number, untilExclusive: number, most: number): number
  /**
   * False if there is none from one local time up to another, a day later at the most; it need not be sure. It takes
   * little, however rare they are.
   */
  mayBeIn(from: number, untilExclusive: number): boolean
  /** False if there is none then, nor in any year of the same kind between the same local times; the same. */
  mayBeInKind(from: number, untilExclusive: number): boolean
  /** False if none ever lies between two times of day, the second of which may be of the next day; the same. */
  mayBeAt(from: number, untilExclusive: number): boolean
  /** Where they are, roughly, if they come in steps. */
  readonly grid?: Grid | undefined
  /** Whether each lies a day or more after the one before. */
  readonly daysApart: boolean
  /**
   * After how many years those of equal length, with neighbours of equal length, that begin on one weekday have the
   * same ones: 1 when all such years have, 0 when none need to.
   */
  readonly yearPeriod: number
}

/** All local times of a pattern lie at most `span` seconds behind `base`, or a multiple of `step` later or earlier. */
export interface Grid {
  readonly base: number
  readonly step: number
  readonly span: number
}

/** Whether a day between two local times may be named in years of its kind. */
export function isNamedBetween(days: Days, from: number, untilExclusive: number): boolean {
  if (days.isNamed === undefined) return true
  const lastDay = Math.floor((untilExclusive - 1) / DAY_S)
  for (let day = Math.floor(from / DAY_S); day <= lastDay; day++) if (days.isNamed(day)) return true
  return false
}

/** Certain times on certain days. */
export class DayTimes implements Pattern {
  readonly daysApart: boolean
  readonly yearPeriod: number
  readonly grid: Grid | undefined
  readonly #days: Days
  readonly #times: TimesOfDay

  constructor(days: Days, times: TimesOfDay) {
    this.#days = days
    this.#times = times
    this.daysApart = times.count === 1
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

  mayBeIn(from: number, untilExclusive: number): boolean {
    const day = Math.floor(from / DAY_S)
    const lastDay = Math.floor((untilExclusive - 1) / DAY_S)
    // Nearly always the days tell, and they are asked about themselves, not about those that follow.
    return this.#days.includes(day) || (lastDay > day && this.#days.includes(lastDay))
  }

  mayBeInKind(from: number, untilExclusive: number): boolean {
    return isNamedBetween(this.#days, from, untilExclusive)
  }

  mayBeAt(from: number, untilExclusive: number): boolean {
    return hasTimeBetween(this.#times, from, untilExclusive)
  }

  count(from: number, untilExclusive: number, most: number): number {
    const first = Math.floor(from / DAY_S)
    const last = Math.floor(untilExclusive / DAY_S)
    const { count } = this.#times
    const days = last > first ? this.#days.count(first, last, most / count + 1) : 0
    return days * count - this.#countOn(first, from) + this.#countOn(last, untilExclusive)
  }

  /** How many there are on a day before a local time of that day. */
  #countOn(day: number, untilExclusive: number): number {
    return this.#days.includes(day) ? this.#times.countBefore(untilExclusive - day * DAY_S) : 0
  }

  #startOf(day: number): number {
    return day * DAY_S + this.#times.earliest
  }
}
