import {
  civilDate,
  DAY_S,
  dayNumber,
  modulo,
  monthIndex,
  monthLength,
  weekdayOf,
} from '../calendar/calendar.js'
import type { ClockChange } from './change-table.js'
import { formatClock } from './wall-text.js'

const WEEK_DAYS = 7

/**
 * A rule for a clock change as laws write it: at a time of day, on the first such weekday from a day of the
 * month on. It is learned from one year and predicts other years. One year cannot tell which seven days the
 * law means. Years in which the change came a week off narrow that down.
 */
export class ChangeRule {
  readonly before: number
  readonly after: number
  /** The local time a second before the change and at the change, as Intl writes it. */
  readonly textBefore: string
  readonly textAfter: string
  /** The time of day of the change in UTC, in seconds. */
  readonly time: number
  /** Whether the latest change was found by the lunar calendar. */
  followsMoon: boolean
  /** In how many years the rule predicted the change. */
  confirmedYears = 0
  readonly #month: number
  readonly #weekday: number
  #firstDay: number

  constructor({ at, before, after }: ClockChange, isByMoon = false) {
    const dayThere = Math.floor(at / DAY_S)
    const { year, month, day } = civilDate(dayThere)
    this.before = before
    this.after = after
    this.followsMoon = isByMoon
    this.time = at - dayThere * DAY_S
    this.textBefore = formatClock(modulo(at - 1 + before, DAY_S))
    this.textAfter = formatClock(modulo(at + after, DAY_S))
    this.#month = month
    this.#weekday = weekdayOf(dayThere)
    // Most laws mean the last week of a month, or a week counted from the first of the month.
    const lastWeek = monthLength(monthIndex(year, month)) - WEEK_DAYS + 1
    this.#firstDay = day >= lastWeek ? lastWeek : day - ((day - 1) % WEEK_DAYS)
  }

  /** Predicts the change in a year. */
  instantIn(year: number): number {
    const first = dayNumber(year, this.#month, this.#firstDay)
    return (first + modulo(this.#weekday - weekdayOf(first), WEEK_DAYS)) * DAY_S + this.time
  }

  /** Records that the change came in a year as predicted, or a week off. */
  confirm(year: number, at: number): void {
    this.confirmedYears++
    this.followsMoon = false
    const day = Math.floor(at / DAY_S) - dayNumber(year, this.#month, 1) + 1
    this.#firstDay = Math.min(Math.max(this.#firstDay, day - WEEK_DAYS + 1), day)
  }
}
