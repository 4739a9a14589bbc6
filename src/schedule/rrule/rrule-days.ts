import {
  CYCLE_MONTHS,
  greatestDivisor,
  isLeapYear,
  modulo,
  monthIndex,
  monthOf,
  monthStart,
  weekdayOf,
} from '../calendar/calendar.js'
import { bitCount, lowestBit } from '../calendar/field-set.js'
import { allDays, type MonthRule, monthWaits, weekdayMasks } from '../calendar/month-days.js'
import type { Frequency, RruleParts } from './rrule-text.js'
import type { AddMatch, Steps } from '../count/step-count.js'

/**
 * The days of a recurrence rule, month by month. A day must match every BY part and lie in a period that is
 * in step with the interval, counted from the rule's first day.
 *
 * Proven by test/schedule/rrule.test.ts.
 */
export class RruleDays implements MonthRule {
  readonly maxMonthsToSearch: number
  readonly yearPeriod: number
  readonly dependsOnNeighbours: boolean
  readonly steps: Steps | undefined
  readonly #parts: RruleParts
  readonly #startDay: number
  readonly #startMonth: number
  readonly #interval: number
  readonly #weekdays: readonly number[]
  /** The BYMONTHDAY masks of months with 28 to 31 days. */
  readonly #monthDays: number[] = []
  readonly #waits: readonly number[] | undefined
  readonly #maskByKind: (number | undefined)[] = []
  readonly #monthsByKind: (number | undefined)[] = []

  /** `interval` is 1 if the rule's interval counts hours, minutes or seconds, or if the caller handles it. */
  constructor(parts: RruleParts, startDay: number, interval: number) {
    this.#parts = parts
    this.#startDay = startDay
    this.#startMonth = monthOf(startDay)
    this.#interval = interval
    const every = parts.weekdays.filter(({ nth }) => nth === 0)
    this.#weekdays = weekdayMasks(every.reduce((bits, { weekday }) => bits | (1 << weekday), 0))
    this.#waits = parts.months.length > 0 ? monthWaits(parts.months) : undefined
    this.yearPeriod = yearPeriod(parts.freq, interval)
    this.dependsOnNeighbours = parts.weekNumbers.length > 0
    this.steps = interval === 1 ? undefined : this.#stepsOf(startDay)
    // An interval of days or weeks shifts against the calendar's cycle. Months that cannot match are skipped, so a
    // rule that has matches has one among so many. The search takes less than a millisecond.
    this.maxMonthsToSearch = CYCLE_MONTHS
  }

  monthFrom(month: number): number {
    const { freq } = this.#parts
    if (this.#interval === 1) return month + (this.#waits?.[modulo(month, 12)] ?? 0)
    if (freq === 'MONTHLY') return this.#startMonth + ceilTo(month - this.#startMonth, this.#interval)
    if (freq === 'YEARLY') {
      const startYear = Math.floor(this.#startMonth / 12)
      const year = Math.floor(month / 12)
      const found = startYear + ceilTo(year - startYear, this.#interval)
      const first = found === year ? month : monthIndex(found, 1)
      const matching = first + (this.#waits?.[modulo(first, 12)] ?? 0)
      return matching < monthIndex(found + 1, 1) ? matching : this.monthFrom(monthIndex(found + 1, 1))
    }
    const found = Math.max(month, monthOf(this.#stepFrom(monthStart(month))))
    return this.#waits ? found + this.#waits[modulo(found, 12)]! : this.#matchingMonthFrom(found)
  }

  sparseMonthFrom(month: number): number {
    const isEvery = this.#interval === 1 && !this.dependsOnNeighbours
    return isEvery ? this.#matchingMonthFrom(month) : this.monthFrom(month)
  }

  /**
   * Returns the first month, at or after this one, in which all BY parts can match. It goes by kinds of
   * years.
   */
  #matchingMonthFrom(month: number): number {
    let from = month
    for (let years = 0; years < CYCLE_MONTHS / 12; years++) {
      const january = from - modulo(from, 12)
      const weekday = weekdayOf(monthStart(january))
      const kind = weekday * 2 + (isLeapYear(january / 12) ? 1 : 0)
      const matching = (this.#monthsByKind[kind] ??= this.#monthsOf(january)) >>> (from - january)
      if (matching !== 0) return from + lowestBit(matching)
      from = january + 12
    }
    return from
  }

  /** Returns the months of a year with a match, as bits. Bit 0 is January. */
  #monthsOf(january: number): number {
    let months = 0
    for (let index = 0; index < 12; index++) {
      const month = january + index
      const start = monthStart(month)
      const length = monthStart(month + 1) - start
      if (this.#maskOfParts(month, length, weekdayOf(start), start) !== 0) months |= 1 << index
    }
    return months
  }

  mask(month: number, length: number, firstWeekday: number, firstDay: number): number {
    const { freq } = this.#parts
    if (this.#interval > 1 && !this.isInStep(month)) return 0
    let mask = (this.#maskByKind[this.#kindOf(month, firstWeekday)] ??= this.#maskOfParts(
      month,
      length,
      firstWeekday,
      firstDay,
    ))
    if (mask !== 0 && this.#interval > 1 && (freq === 'WEEKLY' || freq === 'DAILY'))
      mask &= this.#stepMask(length, firstDay)
    return mask
  }

  /**
   * Months with the same name, first weekday and length of year have the same days. With week numbers, the
   * lengths of the years before and after matter, too.
   */
  #kindOf(month: number, firstWeekday: number): number {
    const year = Math.floor(month / 12)
    const kind = (modulo(month, 12) * 7 + firstWeekday) * 2 + (isLeapYear(year) ? 1 : 0)
    if (this.#parts.weekNumbers.length === 0) return kind
    return (kind * 2 + (isLeapYear(year - 1) ? 1 : 0)) * 2 + (isLeapYear(year + 1) ? 1 : 0)
  }

  #stepsOf(startDay: number): Steps {
    const { freq } = this.#parts
    const common = {
      dependsOnNeighbours: this.dependsOnNeighbours,
      eachMatch: (firstDay: number, _: number, add: AddMatch) => this.#eachIn(firstDay, add),
    }
    if (freq === 'YEARLY' || freq === 'MONTHLY') {
      const [unit, start] =
        freq === 'MONTHLY'
          ? (['month', this.#startMonth] as const)
          : (['year', Math.floor(this.#startMonth / 12)] as const)
      return { ...common, unit, start, step: this.#interval, offsets: [0] }
    }
    const isWeek = freq === 'WEEKLY'
    return {
      ...common,
      unit: 'day',
      start: isWeek ? this.#weekStart(startDay) : startDay,
      step: this.#interval * (isWeek ? 7 : 1),
      offsets: isWeek ? [0, 1, 2, 3, 4, 5, 6] : [0],
    }
  }

  /** Reports the matches of the BY parts in a year, in step or not. */
  #eachIn(yearStart: number, add: AddMatch): void {
    const { freq } = this.#parts
    const january = monthOf(yearStart)
    let firstDay = yearStart
    for (let index = 0; index < 12; index++) {
      const nextStart = monthStart(january + index + 1)
      const month = january + index
      const weekday = weekdayOf(firstDay)
      let mask = (this.#maskByKind[this.#kindOf(month, weekday)] ??= this.#maskOfParts(
        month,
        nextStart - firstDay,
        weekday,
        firstDay,
      ))
      if (freq === 'MONTHLY') add(index, bitCount(mask))
      else if (freq === 'YEARLY') add(0, bitCount(mask))
      else for (; mask !== 0; mask &= mask - 1) add(firstDay - yearStart + lowestBit(mask), 1)
      firstDay = nextStart
    }
  }

  #maskOfParts(month: number, length: number, firstWeekday: number, firstDay: number): number {
    const { months, monthDays, weekdays, yearDays, weekNumbers } = this.#parts
    if (months.length > 0 && !months.includes(modulo(month, 12) + 1)) return 0
    let mask =
      monthDays.length > 0
        ? (this.#monthDays[length - 28] ??= numberedDaysMask(monthDays, length, 0, length))
        : allDays(length)
    if (weekdays.length > 0) mask &= this.#weekdayMask(month, length, firstWeekday, firstDay)
    if (yearDays.length > 0) {
      const yearStart = monthStart(month - modulo(month, 12))
      mask &= numberedDaysMask(yearDays, yearLength(month), firstDay - yearStart, length)
    }
    if (weekNumbers.length > 0) mask &= this.#weekNumberMask(month, length, firstDay)
    return mask
  }

  mayMatchInYearKind(day: number): boolean {
    // Week numbers depend on more than this kind of year.
    if (this.dependsOnNeighbours) return true
    const month = monthOf(day)
    const firstDay = monthStart(month)
    const length = monthStart(month + 1) - firstDay
    const mask = this.#maskOfParts(month, length, weekdayOf(firstDay), firstDay)
    return ((mask >>> (day - firstDay)) & 1) !== 0
  }

  isInStep(month: number): boolean {
    const { freq } = this.#parts
    if (this.#interval === 1) return true
    if (freq === 'MONTHLY') return modulo(month - this.#startMonth, this.#interval) === 0
    const years = Math.floor(month / 12) - Math.floor(this.#startMonth / 12)
    return freq !== 'YEARLY' || modulo(years, this.#interval) === 0
  }

  #weekdayMask(month: number, length: number, firstWeekday: number, firstDay: number): number {
    const { weekdays, freq, months } = this.#parts
    let mask = this.#weekdays[firstWeekday]!
    const inYear = freq === 'YEARLY' && months.length === 0
    const start = inYear ? monthStart(month - modulo(month, 12)) : firstDay
    const end = inYear ? start + yearLength(month) : start + length
    for (const { nth, weekday } of weekdays) {
      if (nth === 0) continue
      const first = start + modulo(weekday - weekdayOf(start), 7)
      const last = end - 1 - modulo(weekdayOf(end - 1) - weekday, 7)
      const day = nth > 0 ? first + (nth - 1) * 7 : last + (nth + 1) * 7
      if (day >= Math.max(start, firstDay) && day < Math.min(end, firstDay + length)) {
        mask |= 1 << (day - firstDay)
      }
    }
    return mask
  }

  /**
   * Returns the first day of the first period (day or week) in step that contains `day` or begins after it.
   */
  #stepFrom(day: number): number {
    const isWeek = this.#parts.freq === 'WEEKLY'
    const start = isWeek ? this.#weekStart(this.#startDay) : this.#startDay
    return start + ceilTo(day - (isWeek ? 6 : 0) - start, this.#interval * (isWeek ? 7 : 1))
  }

  #stepMask(length: number, firstDay: number): number {
    const isWeek = this.#parts.freq === 'WEEKLY'
    const bits = isWeek ? 0b111_1111 : 1
    const step = this.#interval * (isWeek ? 7 : 1)
    let mask = 0
    for (let day = this.#stepFrom(firstDay); day < firstDay + length; day += step) {
      mask |= day < firstDay ? bits >> (firstDay - day) : bits << (day - firstDay)
    }
    return mask
  }

  #weekStart(day: number): number {
    return day - modulo(weekdayOf(day) - this.#parts.weekStart, 7)
  }

  #weekNumberMask(month: number, length: number, firstDay: number): number {
    const january = month - modulo(month, 12)
    let firstWeek = this.#firstWeek(january)
    let nextFirstWeek = this.#firstWeek(january + 12)
    let week = this.#weekStart(firstDay)
    if (week < firstWeek) {
      nextFirstWeek = firstWeek
      firstWeek = this.#firstWeek(january - 12)
    }
    const { weekNumbers } = this.#parts
    let mask = 0
    for (; week < firstDay + length; week += 7) {
      if (week === nextFirstWeek) {
        firstWeek = nextFirstWeek
        nextFirstWeek = this.#firstWeek(monthOf(week + 3) + 12)
      }
      const number = (week - firstWeek) / 7 + 1
      const back = (week - nextFirstWeek) / 7
      if (weekNumbers.includes(number) || weekNumbers.includes(back)) {
        mask |= week < firstDay ? 0b111_1111 >> (firstDay - week) : 0b111_1111 << (week - firstDay)
      }
    }
    return mask
  }

  /**
   * Returns the first day of week 1: the first week with at least four days in the year. `january` is the
   * number of the year's first month.
   */
  #firstWeek(january: number): number {
    return this.#weekStart(monthStart(january) + 3)
  }
}

/**
 * Returns a mask of the numbered days that lie in a month. Days are numbered from 1 to `count`, or from -1
 * back from the end. The month begins `offset` days into the numbering.
 */
function numberedDaysMask(numbers: readonly number[], count: number, offset: number, length: number): number {
  let mask = 0
  for (const number of numbers) {
    const day = (number > 0 ? number - 1 : count + number) - offset
    if (day >= 0 && day < length) mask |= 1 << day
  }
  return mask
}

function yearLength(month: number): number {
  return isLeapYear(Math.floor(month / 12)) ? 366 : 365
}

function ceilTo(value: number, step: number): number {
  return Math.ceil(value / step) * step
}

// With a longer period, few years share a kind and a phase.
const MAX_PERIOD = 12

/** Returns after how many years the days repeat in years of the same kind. See `Pattern`. */
export function yearPeriod(freq: Frequency, interval: number): number {
  if (interval === 1) return 1
  if (freq !== 'YEARLY' && freq !== 'MONTHLY') return 0
  const period = freq === 'YEARLY' ? interval : interval / greatestDivisor(interval, 12)
  return period <= MAX_PERIOD ? period : 0
}
