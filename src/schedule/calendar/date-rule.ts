import { MAX_WAIT_MONTHS, modulo, monthIndex, monthLength, monthOf, monthStart } from './calendar.js'
import { allDays, type MonthRule, monthWaits } from './month-days.js'
import type { InvalidDate } from '../schedule-json.js'
import { formatDate, formatDay } from '../zone/wall-text.js'

// A preview explains missing dates of at most this many months.
const MAX_MONTHS_EXPLAINED = 12

const MARCH = 2

/**
 * Days of the month, in every month or in one. `invalidDate` decides about a day that the month does not
 * have: the month's last day, the first day of the next month, or nothing.
 */
export class DateRule implements MonthRule {
  readonly maxMonthsToSearch = MAX_WAIT_MONTHS
  readonly yearPeriod = 1
  readonly #days: number
  readonly #last: boolean
  readonly #month: number | undefined
  readonly #invalidDate: InvalidDate
  readonly #waits: readonly number[] | undefined
  readonly #maskByKind: (number | undefined)[] = []

  /** `month` is 1 to 12, or undefined for every month. */
  constructor(days: readonly (number | 'last')[], month: number | undefined, invalidDate: InvalidDate) {
    this.#days = days.reduce<number>((bits, day) => (day === 'last' ? bits : bits | (1 << (day - 1))), 0)
    this.#last = days.includes('last')
    this.#month = month
    this.#invalidDate = invalidDate
    if (month !== undefined) {
      this.#waits = monthWaits(invalidDate === 'forward' ? [month, (month % 12) + 1] : [month])
    }
  }

  monthFrom(month: number): number {
    return this.#waits === undefined ? month : month + this.#waits[modulo(month, 12)]!
  }

  mask(month: number, length: number): number {
    const monthOfYear = modulo(month, 12)
    // With `forward`, a date that February lacks moves to March. So March depends on the length of February.
    const kind = monthOfYear * 32 + (monthOfYear === MARCH ? monthLength(month - 1) : length)
    return (this.#maskByKind[kind] ??= this.#maskOf(month, length))
  }

  #maskOf(month: number, length: number): number {
    let mask = 0
    if (this.#appliesTo(month)) {
      mask = this.#days & allDays(length)
      if (this.#last) mask |= 1 << (length - 1)
      if (this.#invalidDate === 'backward' && this.#missingIn(month) !== 0) mask |= 1 << (length - 1)
    }
    if (this.#invalidDate === 'forward' && this.#missingIn(month - 1) !== 0) mask |= 1
    return mask
  }

  /** Explains why the days after `afterDay` and up to `day` are not the dates that were written. */
  reasons(afterDay: number, day: number): string[] {
    const month = monthOf(day)
    if (this.#invalidDate === 'backward') {
      const isLast = day === monthStart(month) + monthLength(month) - 1
      return isLast ? this.#explain(month, formatDay(day)) : []
    }
    if (this.#invalidDate === 'forward') {
      return day === monthStart(month) ? this.#explain(month - 1, formatDay(day)) : []
    }
    // Missing dates are at the end of a month. So those of the month of `day` are still to come.
    const reasons: string[] = []
    const first = Math.max(monthOf(afterDay), month - MAX_MONTHS_EXPLAINED)
    for (let skipped = first; skipped < month; skipped++) reasons.push(...this.#explain(skipped, 'skipped'))
    return reasons
  }

  #explain(month: number, outcome: string): string[] {
    const year = Math.floor(month / 12)
    const missing = this.#missingIn(month)
    const days = [29, 30, 31].filter((day) => (missing & (1 << (day - 1))) !== 0)
    return days.map((day) => `${formatDate(year, modulo(month, 12) + 1, day)} does not exist: ${outcome}`)
  }

  #missingIn(month: number): number {
    return this.#appliesTo(month) ? this.#days & ~allDays(monthLength(month)) : 0
  }

  #appliesTo(month: number): boolean {
    return this.#month === undefined || modulo(month, 12) + 1 === this.#month
  }
}

/** Returns the number of days of the month in a leap year. */
export function longestLength(month: number): number {
  return monthLength(monthIndex(2000, month))
}
