import { dayNumber, greatestDivisor, isLeapYear, modulo, weekdayOf, yearOf } from './calendar.js'

/** Counts from one day up to another; when there are more than `most`, any number above it. */
export type CountDays = (from: number, untilExclusive: number, most: number) => number

// About as many as there are kinds of years: fewer are counted as they are.
const FEW_YEARS = 28

// After so many years dates and weekdays come again.
const CYCLE_YEARS = 400

/**
 * Counts over centuries what depends on nothing but the lengths of a year and of its neighbours and the weekday it
 * begins on, or on that and the year's place in a period of a few years. There are hardly more than 28 such kinds
 * of years for each place: each is counted once, and what comes again after some centuries is multiplied.
 */
export class LongCount {
  readonly #countIn: CountDays
  readonly #period: number
  readonly #inKind: (number | undefined)[] = []

  /** `period` is 1 when years of one kind are all alike. */
  constructor(countIn: CountDays, period: number) {
    this.#countIn = countIn
    this.#period = period
  }

  count(from: number, untilExclusive: number, most: number): number {
    const firstYear = yearOf(from) + 1
    const lastYear = yearOf(untilExclusive)
    if (lastYear - firstYear < FEW_YEARS * this.#period) return this.#countIn(from, untilExclusive, most)
    const count = this.#countIn(from, dayNumber(firstYear, 1, 1), most)
    if (count > most) return count
    const within = count + this.#countYears(firstYear, lastYear, most - count)
    const lastDay = dayNumber(lastYear, 1, 1)
    return within > most ? within : within + this.#countIn(lastDay, untilExclusive, most - within)
  }

  #countYears(firstYear: number, lastYear: number, most: number): number {
    const period = this.#period
    const inKind = this.#inKind
    const cycle = leastMultiple(CYCLE_YEARS, period)
    const cycles = Math.floor((lastYear - firstYear) / cycle)
    const restYear = lastYear - cycles * cycle
    const endYear = cycles > 0 ? firstYear + cycle : lastYear
    let count = 0
    let countOfRest = 0
    let day = dayNumber(firstYear, 1, 1)
    let weekday = weekdayOf(day)
    let place = modulo(firstYear, period)
    let lengths = lengthBit(firstYear - 1) * 2 + lengthBit(firstYear)
    for (let year = firstYear; year < endYear && count <= most; year++) {
      if (year === restYear) countOfRest = count
      lengths = (lengths * 2 + ((year + 1) % 4 === 0 ? lengthBit(year + 1) : 0)) & 7
      const length = 365 + ((lengths >> 1) & 1)
      const kind = (place * 7 + weekday) * 8 + lengths
      count += inKind[kind] ??= this.#countIn(day, day + length, Infinity)
      day += length
      weekday = (weekday + length) % 7
      place = (place + 1) % period
    }
    return cycles > 0 ? cycles * count + countOfRest : count
  }
}

function lengthBit(year: number): number {
  return isLeapYear(year) ? 1 : 0
}

function leastMultiple(a: number, b: number): number {
  return (a / greatestDivisor(a, b)) * b
}
