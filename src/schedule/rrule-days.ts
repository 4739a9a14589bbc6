import {
  CYCLE_DAYS,
  CYCLE_MONTHS,
  greatestDivisor,
  isLeapYear,
  modulo,
  monthIndex,
  monthOf,
  monthStart,
  weekdayOf,
} from './calendar.js'
import { bitCount, lowestBit } from './field-set.js'
import { allDays, type MonthRule, monthWaits, weekdayMasks } from './month-days.js'
import type { Frequency, RruleParts } from './rrule-text.js'
import type { Add, Steps } from './step-count.js'

/**
 * The days a recurrence rule names, a month at a time: those that pass every BY part, in the periods the
 * interval picks out, counted from the day the rule starts on.
 */
export class RruleDays implements MonthRule {
  readonly mostMonths: number
  readonly yearPeriod: number
  readonly hasNeighbours: boolean
  readonly steps: Steps | undefined
  readonly #parts: RruleParts
  readonly #startDay: number
  readonly #startMonth: number
  readonly #interval: number
  readonly #weekdays: readonly number[]
  /** BYMONTHDAY in months of 28 to 31 days. */
  readonly #monthDays: number[] = []
  readonly #waits: readonly number[] | undefined
  readonly #ofKind: (number | undefined)[] = []
  readonly #monthsOfKind: (number | undefined)[] = []

  /** `interval` is 1 when the interval counts something shorter than days, or is looked after elsewhere. */
  constructor(parts: RruleParts, startDay: number, interval: number) {
    this.#parts = parts
    this.#startDay = startDay
    this.#startMonth = monthOf(startDay)
    this.#interval = interval
    const every = parts.weekdays.filter(({ nth }) => nth === 0)
    this.#weekdays = weekdayMasks(every.reduce((bits, { weekday }) => bits | (1 << weekday), 0))
    this.#waits = parts.months.length > 0 ? monthWaits(parts.months) : undefined
    this.yearPeriod = yearPeriod(parts.freq, interval)
    this.hasNeighbours = parts.weekNumbers.length > 0
    this.steps = interval === 1 ? undefined : this.#stepsOf(startDay)
    // Days or weeks at a distance meet the calendar's cycle anew until both have come around.
    this.mostMonths = interval === 1 ? CYCLE_MONTHS : CYCLE_DAYS
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
      const named = first + (this.#waits?.[modulo(first, 12)] ?? 0)
      return named < monthIndex(found + 1, 1) ? named : this.monthFrom(monthIndex(found + 1, 1))
    }
    const found = Math.max(month, monthOf(this.#stepFrom(monthStart(month))))
    return this.#waits ? found + this.#waits[modulo(found, 12)]! : this.#namedMonthFrom(found)
  }

  sparseMonthFrom(month: number): number {
    const isEvery = this.#interval === 1 && !this.hasNeighbours
    return isEvery ? this.#namedMonthFrom(month) : this.monthFrom(month)
  }

  /** The first month at or after one in which the parts meet at all, by what is known of such years. */
  #namedMonthFrom(month: number): number {
    let from = month
    for (let years = 0; years < CYCLE_MONTHS / 12; years++) {
      const january = from - modulo(from, 12)
      const weekday = weekdayOf(monthStart(january))
      const kind = weekday * 2 + (isLeapYear(january / 12) ? 1 : 0)
      const named = (this.#monthsOfKind[kind] ??= this.#monthsOf(january)) >>> (from - january)
      if (named !== 0) return from + lowestBit(named)
      from = january + 12
    }
    return from
  }

  /** Bit 0 is January. */
  #monthsOf(january: number): number {
    let months = 0
    for (let place = 0; place < 12; place++) {
      const month = january + place
      const start = monthStart(month)
      const length = monthStart(month + 1) - start
      if (this.#maskOfParts(month, length, weekdayOf(start), start) !== 0) months |= 1 << place
    }
    return months
  }

  mask(month: number, length: number, firstWeekday: number, firstDay: number): number {
    const { freq } = this.#parts
    if (this.#interval > 1 && !this.isInStep(month)) return 0
    let mask = (this.#ofKind[this.#kindOf(month, firstWeekday)] ??= this.#maskOfParts(
      month,
      length,
      firstWeekday,
      firstDay,
    ))
    if (mask !== 0 && this.#interval > 1 && (freq === 'WEEKLY' || freq === 'DAILY'))
      mask &= this.#stepMask(length, firstDay)
    return mask
  }

  /** Months of one name that begin on one weekday have the same days; week numbers depend on neighbouring years. */
  #kindOf(month: number, firstWeekday: number): number {
    const year = Math.floor(month / 12)
    const kind = (modulo(month, 12) * 7 + firstWeekday) * 2 + (isLeapYear(year) ? 1 : 0)
    if (this.#parts.weekNumbers.length === 0) return kind
    return (kind * 2 + (isLeapYear(year - 1) ? 1 : 0)) * 2 + (isLeapYear(year + 1) ? 1 : 0)
  }

  #stepsOf(startDay: number): Steps {
    const { freq } = this.#parts
    const common = {
      hasNeighbours: this.hasNeighbours,
      each: (firstDay: number, _: number, add: Add) => this.#eachIn(firstDay, add),
    }
    if (freq === 'YEARLY' || freq === 'MONTHLY') {
      const [unit, start] =
        freq === 'MONTHLY'
          ? (['month', this.#startMonth] as const)
          : (['year', Math.floor(this.#startMonth / 12)] as const)
      return { ...common, unit, start, step: this.#interval, places: [0] }
    }
    const isWeek = freq === 'WEEKLY'
    return {
      ...common,
      unit: 'day',
      start: isWeek ? this.#weekStart(startDay) : startDay,
      step: this.#interval * (isWeek ? 7 : 1),
      places: isWeek ? [0, 1, 2, 3, 4, 5, 6] : [0],
    }
  }

  /** Tells what the parts name in a year, whatever is in step. */
  #eachIn(yearStart: number, add: Add): void {
    const { freq } = this.#parts
    const january = monthOf(yearStart)
    let firstDay = yearStart
    for (let place = 0; place < 12; place++) {
      const nextStart = monthStart(january + place + 1)
      const month = january + place
      const weekday = weekdayOf(firstDay)
      let mask = (this.#ofKind[this.#kindOf(month, weekday)] ??= this.#maskOfParts(
        month,
        nextStart - firstDay,
        weekday,
        firstDay,
      ))
      if (freq === 'MONTHLY') add(place, bitCount(mask))
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
        ? (this.#monthDays[length - 28] ??= placesMask(monthDays, length, 0, length))
        : allDays(length)
    if (weekdays.length > 0) mask &= this.#weekdayMask(month, length, firstWeekday, firstDay)
    if (yearDays.length > 0) {
      const yearStart = monthStart(month - modulo(month, 12))
      mask &= placesMask(yearDays, yearLength(month), firstDay - yearStart, length)
    }
    if (weekNumbers.length > 0) mask &= this.#weekNumberMask(month, length, firstDay)
    return mask
  }

  isNamed(day: number): boolean {
    // Week numbers depend on more than the kind of a year.
    if (this.hasNeighbours) return true
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

  /** The first day or week in step that reaches `day` or begins after it, by the day it begins. */
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

  /** Week 1 of a year is the first with at least four days in it. `january` is the year's first month. */
  #firstWeek(january: number): number {
    return this.#weekStart(monthStart(january) + 3)
  }
}

/** The places 1 to `count`, or -1 back from the end, that lie in a month beginning `offset` days into them. */
function placesMask(places: readonly number[], count: number, offset: number, length: number): number {
  let mask = 0
  for (const place of places) {
    const day = (place > 0 ? place - 1 : count + place) - offset
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

// With a longer period few years have anything to count.
const LONGEST_PERIOD = 12

/** After how many years years of one kind have the same days again when periods are counted; see `Pattern`. */
export function yearPeriod(freq: Frequency, interval: number): number {
  if (interval === 1) return 1
  if (freq !== 'YEARLY' && freq !== 'MONTHLY') return 0
  const period = freq === 'YEARLY' ? interval : interval / greatestDivisor(interval, 12)
  return period <= LONGEST_PERIOD ? period : 0
}
