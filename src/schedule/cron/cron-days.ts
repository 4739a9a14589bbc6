import { MAX_WAIT_MONTHS, modulo } from '../calendar/calendar.js'
import { allDays, type MonthRule, monthWaits, weekdayMasks } from '../calendar/month-days.js'

/** The values that the three date fields of a cron expression allow. */
export interface CronDates {
  /** 1 to 12. */
  readonly months: readonly number[]
  /** Days of the month by number. */
  readonly days: readonly number[]
  /** Days counted back from the last one: 0 is `L`. */
  readonly daysBeforeLast: readonly number[]
  /** Days of the month that mean the nearest Monday to Friday: `15W`. */
  readonly nearestWorkday: readonly number[]
  /** Whether the expression has `LW`, the last Monday to Friday of the month. */
  readonly lastWorkday: boolean
  /** Weekdays, Sunday as 0. */
  readonly weekdays: readonly number[]
  /** `5#3` is the third Friday. */
  readonly nthWeekdays: readonly { readonly weekday: number; readonly nth: number }[]
  /** `5L` is the last Friday. */
  readonly lastWeekdays: readonly number[]
  /** Whether a day needs to match only one of the two fields. Otherwise it must match both. */
  readonly either: boolean
}

/** The days of a cron expression, month by month. A date that a month does not have is skipped. */
export class CronDays implements MonthRule {
  readonly maxMonthsToSearch = MAX_WAIT_MONTHS
  readonly yearPeriod = 1
  readonly #dates: CronDates
  readonly #waits: readonly number[]
  readonly #days: number
  readonly #weekdays: readonly number[]
  readonly #lastWeekdays: readonly number[]
  readonly #nth: readonly (readonly number[])[]
  readonly #maskByKind: (number | undefined)[] = []

  constructor(dates: CronDates) {
    this.#dates = dates
    this.#waits = monthWaits(dates.months)
    this.#days = bitsOf(dates.days) >>> 1
    this.#weekdays = weekdayMasks(bitsOf(dates.weekdays))
    this.#lastWeekdays = weekdayMasks(bitsOf(dates.lastWeekdays))
    this.#nth = dates.nthWeekdays.map(({ weekday, nth }) => {
      const week = 0b111_1111 << (7 * (nth - 1))
      return weekdayMasks(1 << weekday).map((mask) => mask & week)
    })
  }

  monthFrom(month: number): number {
    return month + this.#waits[modulo(month, 12)]!
  }

  mask(month: number, length: number, firstWeekday: number): number {
    if (this.#waits[modulo(month, 12)] !== 0) return 0
    return (this.#maskByKind[length * 7 + firstWeekday] ??= this.#maskOf(length, firstWeekday))
  }

  /**
   * Returns the mask of a month that the month field allows. It depends only on the month's length and first
   * weekday.
   */
  #maskOf(length: number, firstWeekday: number): number {
    const byDay = this.#dayMask(length, firstWeekday)
    const byWeekday = this.#weekdayMask(length, firstWeekday)
    return (this.#dates.either ? byDay | byWeekday : byDay & byWeekday) & allDays(length)
  }

  #dayMask(length: number, firstWeekday: number): number {
    const { daysBeforeLast, nearestWorkday, lastWorkday } = this.#dates
    let mask = this.#days
    for (const before of daysBeforeLast) if (before < length) mask |= 1 << (length - 1 - before)
    for (const day of nearestWorkday)
      if (day <= length) mask |= 1 << (workdayNear(day, length, firstWeekday) - 1)
    if (lastWorkday) mask |= 1 << (workdayNear(length, length, firstWeekday) - 1)
    return mask
  }

  #weekdayMask(length: number, firstWeekday: number): number {
    let mask = this.#weekdays[firstWeekday]!
    for (const masks of this.#nth) mask |= masks[firstWeekday]!
    return mask | (this.#lastWeekdays[firstWeekday]! & ~allDays(length - 7))
  }
}

/** Returns the Monday to Friday nearest to a day, within the same month. */
function workdayNear(day: number, length: number, firstWeekday: number): number {
  const weekday = modulo(firstWeekday + day - 1, 7)
  if (weekday === 6) return day > 1 ? day - 1 : day + 2
  if (weekday === 0) return day < length ? day + 1 : day - 2
  return day
}

function bitsOf(values: readonly number[]): number {
  return values.reduce((bits, value) => bits | (1 << value), 0)
}
