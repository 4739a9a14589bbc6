import { civilDate, DAY_S, dayNumber, modulo, monthIndex, monthLength, weekdayOf } from './calendar.js'
import type { Change } from './change-table.js'
import { formatClock } from './wall-text.js'

const WEEK_DAYS = 7

/**
 * A change of clocks as laws put it: at a time of such a weekday, on a day of a month or in the six days after it. It
 * is read off one year and says where the change comes in others, if they keep to it; which seven days they are the
 * years tell in which it came a week off.
 */
export class ChangeRule {
  readonly before: number
  readonly after: number
  /** What clocks show a second before the change, and at it. */
  readonly textBefore: string
  readonly textAfter: string
  /** The time of the day, of UTC, at which it comes. */
  readonly time: number
  /** Whether it came when the moon had it, the last time. */
  isByMoon: boolean
  /** In how many years it was kept since it was read. */
  kept = 0
  readonly #month: number
  readonly #weekday: number
  #firstDay: number

  constructor({ at, before, after }: Change, isByMoon = false) {
    const dayThere = Math.floor(at / DAY_S)
    const { year, month, day } = civilDate(dayThere)
    this.before = before
    this.after = after
    this.isByMoon = isByMoon
    this.time = at - dayThere * DAY_S
    this.textBefore = formatClock(modulo(at - 1 + before, DAY_S))
    this.textAfter = formatClock(modulo(at + after, DAY_S))
    this.#month = month
    this.#weekday = weekdayOf(dayThere)
    // Mostly it is the last week of a month that is meant, or one counted from its first day.
    const lastWeek = monthLength(monthIndex(year, month)) - WEEK_DAYS + 1
    this.#firstDay = day >= lastWeek ? lastWeek : day - ((day - 1) % WEEK_DAYS)
  }

  /** When the change comes in a year that keeps to it. */
  in(year: number): number {
    const first = dayNumber(year, this.#month, this.#firstDay)
    return (first + modulo(this.#weekday - weekdayOf(first), WEEK_DAYS)) * DAY_S + this.time
  }

  /** Told that the change came in a year where it says, or a week off. */
  keep(year: number, at: number): void {
    this.kept++
    this.isByMoon = false
    const day = Math.floor(at / DAY_S) - dayNumber(year, this.#month, 1) + 1
    this.#firstDay = Math.min(Math.max(this.#firstDay, day - WEEK_DAYS + 1), day)
  }
}
