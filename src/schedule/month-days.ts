import { CYCLE_DAYS, DAY_S, modulo, monthLength, monthOf, monthStart, weekdayOf } from './calendar.js'
import { bitCount, lowestBit } from './field-set.js'
import { LAST_SECOND } from './horizon.js'
import { type CountDays, LongCount } from './long-count.js'
import type { Grid } from './pattern.js'
import { StepCount, type Steps } from './step-count.js'

/** The days a schedule names, by day number. */
export interface Days {
  /** The first that is at least `day`, or Infinity. */
  firstFrom(day: number): number
  /** Whether a day is one of them. */
  includes(day: number): boolean
  /** False if neither a day nor the same one of any year of its kind is one of them; it need not be sure. */
  isNamed?(day: number): boolean
  /** After how many years like years have the same of them; see `Pattern`. */
  readonly yearPeriod: number
  /** After how many days they are the same again, if that is known. */
  readonly dayPeriod?: number
  /** The same in days, if they come in steps. */
  readonly dayGrid?: Grid | undefined
  /** How many there are from one day up to another; when there are more than `most`, any number above it. */
  count(from: number, untilExclusive: number, most: number): number
}

/** Which days of a month match, month by month. */
export interface MonthRule {
  /** How many months to look at before the rule counts as spent: once around its own cycle. */
  readonly mostMonths: number
  /** After how many years like years have the same days; see `Pattern`. */
  readonly yearPeriod: number
  /** Whether a year takes anything from the lengths of its neighbours: week numbers do. */
  readonly hasNeighbours?: boolean
  /** What is named and the steps it must fall into, unless all of it counts. */
  readonly steps?: Steps | undefined
  /** The first month at or after `month` that can hold a match. */
  monthFrom(month: number): number
  /** The same with fewer months in which there is none after all; it takes more to answer. */
  sparseMonthFrom?(month: number): number
  /** See `Days`. */
  isNamed?(day: number): boolean
  /** Whether a month is in step, if months or years are: that is quickly said. */
  isInStep?(month: number): boolean
  /** Bit 0 is the first day. `firstDay` is its day number and `firstWeekday` its weekday, Sunday as 0. */
  mask(month: number, length: number, firstWeekday: number, firstDay: number): number
}

export const everyDay: Days = {
  yearPeriod: 1,
  firstFrom: (day) => day,
  includes: () => true,
  count: (from, untilExclusive) => untilExclusive - from,
}

// Decades: counted by kinds of years.
const LONG_DAYS = 10_000

// After so many months without any a rule hardly ever matches.
const FEW_MONTHS = 4

// Local time may run a day ahead of the last instant.
export const LAST_DAY = Math.floor(LAST_SECOND / DAY_S) + 1

/**
 * The days of a month rule. The month looked at last is kept, because schedules are mostly asked for instants
 * that follow each other; a rule that has come once around its cycle without a match has no more days.
 */
export class MonthDays implements Days {
  readonly yearPeriod: number
  readonly dayPeriod?: number
  readonly dayGrid: Grid | undefined
  readonly #rule: MonthRule
  readonly #long: LongCount | StepCount
  #start = 0
  #length = 0
  #mask = 0

  constructor(rule: MonthRule) {
    this.yearPeriod = rule.yearPeriod
    if (rule.yearPeriod === 1) this.dayPeriod = CYCLE_DAYS
    this.#rule = rule
    const { steps } = rule
    if (steps?.unit === 'day') {
      this.dayGrid = { base: steps.start, step: steps.step, span: Math.max(...steps.places) }
    }
    const countIn: CountDays = (from, until, most) => this.#countMonths(from, until, most)
    this.#long = rule.steps
      ? new StepCount(rule.steps, countIn)
      : new LongCount(countIn, 1, rule.hasNeighbours ?? false)
  }

  firstFrom(day: number): number {
    let place = day - this.#start
    if (place < 0 || place >= this.#length) {
      if (!this.#look(monthOf(day))) return Infinity
      place = day - this.#start
    }
    const bits = this.#mask >>> place
    return bits === 0 ? this.#firstInLaterMonths(day) : day + lowestBit(bits)
  }

  includes(day: number): boolean {
    const place = day - this.#start
    if (place >= 0 && place < this.#length) return ((this.#mask >>> place) & 1) !== 0
    const month = monthOf(day)
    if (this.#rule.isInStep?.(month) === false) return false
    return this.#look(month) && ((this.#mask >>> (day - this.#start)) & 1) !== 0
  }

  isNamed(day: number): boolean {
    return this.#rule.isNamed?.(day) ?? true
  }

  count(from: number, untilExclusive: number, most: number): number {
    if (untilExclusive - from > LONG_DAYS) return this.#long.count(from, untilExclusive, most)
    return this.#countMonths(from, untilExclusive, most)
  }

  #countMonths(from: number, untilExclusive: number, most: number): number {
    const rule = this.#rule
    let count = 0
    let month = rule.monthFrom(monthOf(from))
    while (count <= most) {
      const start = monthStart(month)
      if (!(start < untilExclusive)) break
      const length = monthStart(month + 1) - start
      let mask = rule.mask(month, length, weekdayOf(start), start)
      if (start < from) mask &= -1 << (from - start)
      if (start + length > untilExclusive) mask &= (1 << (untilExclusive - start)) - 1
      count += bitCount(mask)
      month = rule.monthFrom(month + 1)
    }
    return count
  }

  #firstInLaterMonths(day: number): number {
    let month = monthOf(day)
    for (let looked = 0; looked < FEW_MONTHS; looked++) {
      month = this.#rule.monthFrom(month + 1)
      if (!this.#look(month)) return Infinity
      if (this.#mask !== 0) return this.#start + lowestBit(this.#mask)
    }
    return this.#firstInFarMonths(month + 1)
  }

  #firstInFarMonths(from: number): number {
    const rule = this.#rule
    let month = from - 1
    for (let looked = FEW_MONTHS; looked < rule.mostMonths; looked++) {
      month = rule.sparseMonthFrom?.(month + 1) ?? rule.monthFrom(month + 1)
      if (!this.#look(month)) break
      if (this.#mask !== 0) return this.#start + lowestBit(this.#mask)
    }
    return Infinity
  }

  #look(month: number): boolean {
    const start = monthStart(month)
    if (!(start <= LAST_DAY)) return false
    this.#start = start
    this.#length = monthLength(month)
    this.#mask = this.#rule.mask(month, this.#length, weekdayOf(start), start)
    return true
  }
}

/** The mask of a month's days from `first` to `last`, counted from 1. */
function daysMask(first: number, last: number): number {
  let mask = 0
  for (let day = first; day <= last; day++) mask |= 1 << (day - 1)
  return mask
}

const allOfLength = Array.from({ length: 32 }, (_, length) => daysMask(1, length))

export function allDays(length: number): number {
  return allOfLength[length]!
}

/** Masks of the days with a weekday in `weekdays` (bit 0 is Sunday), by the weekday of the first day. */
export function weekdayMasks(weekdays: number): readonly number[] {
  return Array.from({ length: 7 }, (_, first) => {
    let mask = 0
    for (let place = 0; place < 31; place++) {
      if ((weekdays & (1 << modulo(first + place, 7))) !== 0) mask |= 1 << place
    }
    return mask
  })
}

/** How many months to wait, from each month of the year on, for one of those named (1 to 12, at least one). */
export function monthWaits(named: Iterable<number>): readonly number[] {
  const names = new Set(named)
  return Array.from({ length: 12 }, (_, month) => {
    let wait = 0
    while (!names.has(((month + wait) % 12) + 1)) wait++
    return wait
  })
}
