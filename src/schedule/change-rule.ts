import { civilDate, DAY_S, dayNumber, modulo, monthIndex, monthLength, weekdayOf } from './calendar.js'
import type { Change } from './change-table.js'
import { formatClock } from './wall-text.js'

const LAST_WEEK = -1

/**
 * A change of clocks as laws put it: at a time of such a weekday, in such a week of a month or in its last. It is
 * read off one year and says where the change comes in others, if they keep to it.
 */
export class ChangeRule {
  readonly before: number
  readonly after: number
  /** What clocks show a second before the change, and at it. */
  readonly textBefore: string
  readonly textAfter: string
  /** The time of the day, of UTC, at which it comes. */
  readonly time: number
  readonly #month: number
  readonly #week: number
  readonly #weekday: number

  constructor({ at, before, after }: Change) {
    const dayThere = Math.floor(at / DAY_S)
    const { year, month, day } = civilDate(dayThere)
    this.before = before
    this.after = after
    this.time = at - dayThere * DAY_S
    this.textBefore = formatClock(modulo(at - 1 + before, DAY_S))
    this.textAfter = formatClock(modulo(at + after, DAY_S))
    this.#month = month
    this.#week = day > monthLength(monthIndex(year, month)) - 7 ? LAST_WEEK : Math.floor((day - 1) / 7)
    this.#weekday = weekdayOf(dayThere)
  }

  /** When the change comes in a year that keeps to it. */
  in(year: number): number {
    const firstDay =
      this.#week === LAST_WEEK
        ? dayNumber(year, this.#month + 1, 1) - 7
        : dayNumber(year, this.#month, 1 + 7 * this.#week)
    return (firstDay + modulo(this.#weekday - weekdayOf(firstDay), 7)) * DAY_S + this.time
  }
}
