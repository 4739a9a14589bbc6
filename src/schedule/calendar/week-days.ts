import { weekdayOf } from './calendar.js'
import { bitCount, lowestBit } from './field-set.js'
import type { Days } from './month-days.js'

/** Certain weekdays of every week. Sunday is 0. */
export class WeekDays implements Days {
  readonly yearPeriod = 1
  readonly dayPeriod = 7
  readonly #twoWeeks: number

  constructor(weekdays: readonly number[]) {
    const week = weekdays.reduce((bits, weekday) => bits | (1 << weekday), 0)
    this.#twoWeeks = week | (week << 7)
  }

  firstFrom(day: number): number {
    return day + lowestBit(this.#twoWeeks >>> weekdayOf(day))
  }

  includes(day: number): boolean {
    return ((this.#twoWeeks >>> weekdayOf(day)) & 1) !== 0
  }

  count(from: number, untilExclusive: number): number {
    const weeks = Math.floor((untilExclusive - from) / 7)
    const rest = untilExclusive - from - weeks * 7
    const inRest = (this.#twoWeeks >>> weekdayOf(from)) & ((1 << rest) - 1)
    return (weeks * bitCount(this.#twoWeeks)) / 2 + bitCount(inRest)
  }
}
