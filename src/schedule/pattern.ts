import { DAY_S } from './calendar.js'
import type { Days } from './month-days.js'
import type { TimesOfDay } from './time-of-day.js'

/**
 * The local times a schedule names, as if every zone were UTC: seconds since 1970-01-01 00:00 on the wall.
 * Zones, gaps and overlaps are someone else's business.
 */
export interface Pattern {
  /** The first local time at or after `local`, or Infinity when there is none. */
  firstFrom(local: number): number
}

/** Certain times on certain days. */
export class DayTimes implements Pattern {
  readonly #days: Days
  readonly #times: TimesOfDay

  constructor(days: Days, times: TimesOfDay) {
    this.#days = days
    this.#times = times
  }

  firstFrom(local: number): number {
    const day = Math.floor(local / DAY_S)
    const time = this.#times.firstFrom(local - day * DAY_S)
    if (time < 0) return this.#startOf(this.#days.firstFrom(day + 1))
    const found = this.#days.firstFrom(day)
    return found === day ? day * DAY_S + time : this.#startOf(found)
  }

  #startOf(day: number): number {
    return day * DAY_S + this.#times.earliest
  }
}
