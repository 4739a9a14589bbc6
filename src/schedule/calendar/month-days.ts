import { CYCLE_DAYS, DAY_S, modulo, monthLength, monthOf, monthStart, weekdayOf } from './calendar.js'
import { bitCount, lowestBit } from './field-set.js'
import { LAST_SECOND } from '../horizon.js'
import { type CountDays, YearKindCount } from '../count/year-kind-count.js'
import type { Grid } from './pattern.js'
import { StepCount, type Steps } from '../count/step-count.js'

/** The days that a schedule matches, by day number. */
export interface Days {
  /** Returns the first match at or after `day`, or Infinity. */
  firstFrom(day: number): number
  includes(day: number): boolean
  /** Returns false only if the day does not match in any year of the same kind. True may be wrong. */
  mayMatchInYearKind?(day: number): boolean
  /** After how many years the matches repeat in years of the same kind. See `Pattern`. */
  readonly yearPeriod: number
  /** After how many days the matches repeat, if that is known. */
  readonly dayPeriod?: number
  /** Where the matches are, if they come in steps. Unit: days. See `Grid`. */
  readonly dayGrid?: Grid | undefined
  /**
   * Counts the matches from one day up to another. Above `most`, the result may be any number greater than
   * `most`.
   */
  count(from: number, untilExclusive: number, most: number): number
}

/** The days that match, month by month. */
export interface MonthRule {
  /** How many months to search before the rule has no more matches: once around its own cycle. */
  readonly maxMonthsToSearch: number
  /** After how many years the matches repeat in years of the same kind. See `Pattern`. */
  readonly yearPeriod: number
  /** Whether a year's matches depend on the lengths of the years next to it. Week numbers do. */
  readonly dependsOnNeighbours?: boolean
  /** The steps of the rule's interval, if it is greater than 1. Only matches that are in step count. */
  readonly steps?: Steps | undefined
  /** Returns the first month at or after `month` that may contain a match. */
  monthFrom(month: number): number
  /** The same, but slower and with fewer months that contain no match after all. */
  sparseMonthFrom?(month: number): number
  /** See `Days`. */
  mayMatchInYearKind?(day: number): boolean
  /** Whether a month is in step, for an interval of months or years. A quick check. */
  isInStep?(month: number): boolean
  /**
   * Returns the matching days of a month as bits. Bit 0 is the first day of the month.
   * `firstDay` is the day number of that day, and `firstWeekday` its weekday, Sunday as 0.
   */
  mask(month: number, length: number, firstWeekday: number, firstDay: number): number
}

export const everyDay: Days = {
  yearPeriod: 1,
  firstFrom: (day) => day,
  includes: () => true,
  count: (from, untilExclusive) => untilExclusive - from,
}

// Longer ranges, of decades, are counted by kinds of years.
const LONG_DAYS = 10_000

// After this many months without a match, the rule is assumed to match rarely.
const NEAR_MONTHS = 4

// Local time may be a day ahead of the last instant.
export const LAST_DAY = Math.floor(LAST_SECOND / DAY_S) + 1

/**
 * The days of a month rule. It caches the latest month, because most callers ask for instants in sequence. A
 * rule that went once around its cycle without a match has no more days.
 */
export class MonthDays implements Days {
  readonly yearPeriod: number
  readonly dayPeriod?: number
  readonly dayGrid: Grid | undefined
  readonly #rule: MonthRule
  readonly #longCount: YearKindCount | StepCount
  #start = 0
  #length = 0
  #mask = 0

  constructor(rule: MonthRule) {
    this.yearPeriod = rule.yearPeriod
    if (rule.yearPeriod === 1) this.dayPeriod = CYCLE_DAYS
    this.#rule = rule
    const { steps } = rule
    if (steps?.unit === 'day') {
      this.dayGrid = { base: steps.start, step: steps.step, span: Math.max(...steps.offsets) }
    }
    const countIn: CountDays = (from, until, most) => this.#countMonths(from, until, most)
    this.#longCount = rule.steps
      ? new StepCount(rule.steps, countIn)
      : new YearKindCount(countIn, 1, rule.dependsOnNeighbours ?? false)
  }

  firstFrom(day: number): number {
    let index = day - this.#start
    if (index < 0 || index >= this.#length) {
      if (!this.#loadMonth(monthOf(day))) return Infinity
      index = day - this.#start
    }
    const bits = this.#mask >>> index
    return bits === 0 ? this.#firstInLaterMonths(day) : day + lowestBit(bits)
  }

  includes(day: number): boolean {
    const index = day - this.#start
    if (index >= 0 && index < this.#length) return ((this.#mask >>> index) & 1) !== 0
    const month = monthOf(day)
    if (this.#rule.isInStep?.(month) === false) return false
    return this.#loadMonth(month) && ((this.#mask >>> (day - this.#start)) & 1) !== 0
  }

  mayMatchInYearKind(day: number): boolean {
    return this.#rule.mayMatchInYearKind?.(day) ?? true
  }

  count(from: number, untilExclusive: number, most: number): number {
    if (untilExclusive - from > LONG_DAYS) return this.#longCount.count(from, untilExclusive, most)
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
    for (let looked = 0; looked < NEAR_MONTHS; looked++) {
      month = this.#rule.monthFrom(month + 1)
      if (!this.#loadMonth(month)) return Infinity
      if (this.#mask !== 0) return this.#start + lowestBit(this.#mask)
    }
    return this.#firstInFarMonths(month + 1)
  }

  #firstInFarMonths(from: number): number {
    const rule = this.#rule
    let month = from - 1
    for (let looked = NEAR_MONTHS; looked < rule.maxMonthsToSearch; looked++) {
      month = rule.sparseMonthFrom?.(month + 1) ?? rule.monthFrom(month + 1)
      if (!this.#loadMonth(month)) break
      if (this.#mask !== 0) return this.#start + lowestBit(this.#mask)
    }
    return Infinity
  }

  #loadMonth(month: number): boolean {
    const start = monthStart(month)
    if (!(start <= LAST_DAY)) return false
    this.#start = start
    this.#length = monthLength(month)
    this.#mask = this.#rule.mask(month, this.#length, weekdayOf(start), start)
    return true
  }
}

/** Returns a mask of the days from `first` to `last`, counted from 1. */
function daysMask(first: number, last: number): number {
  let mask = 0
  for (let day = first; day <= last; day++) mask |= 1 << (day - 1)
  return mask
}

const allOfLength = Array.from({ length: 32 }, (_, length) => daysMask(1, length))

export function allDays(length: number): number {
  return allOfLength[length]!
}

/**
 * Returns masks of the days whose weekday is in `weekdays` (bit 0 is Sunday), indexed by the weekday of the
 * month's first day.
 */
export function weekdayMasks(weekdays: number): readonly number[] {
  return Array.from({ length: 7 }, (_, first) => {
    let mask = 0
    for (let index = 0; index < 31; index++) {
      if ((weekdays & (1 << modulo(first + index, 7))) !== 0) mask |= 1 << index
    }
    return mask
  })
}

/** For each month of the year, how many months it takes to reach one of `months` (1 to 12, at least one). */
export function monthWaits(months: Iterable<number>): readonly number[] {
  const wanted = new Set(months)
  return Array.from({ length: 12 }, (_, month) => {
    let wait = 0
    while (!wanted.has(((month + wait) % 12) + 1)) wait++
    return wait
  })
}
