import { dayNumber, isLeapYear, monthOf, weekdayOf } from './calendar.js'

/** Counts from one day up to another; when there are more than `most`, any number above it. */
export type CountDays = (from: number, untilExclusive: number, most: number) => number

// About as many as there are kinds of years: fewer are counted as they are.
const FEW_YEARS = 28

/**
 * Counts over centuries what depends on nothing but the lengths of a year and of its neighbours and the weekday it
 * begins on. There are hardly more than 28 such kinds of years: each is counted once.
 */
export class LongCount {
  readonly #countIn: CountDays
  readonly #inKind: (number | undefined)[] = []

  constructor(countIn: CountDays) {
    this.#countIn = countIn
  }

  count(from: number, untilExclusive: number, most: number): number {
    const firstYear = yearOf(from) + 1
    const lastYear = yearOf(untilExclusive)
    if (lastYear - firstYear < FEW_YEARS) return this.#countIn(from, untilExclusive, most)
    let day = dayNumber(firstYear, 1, 1)
    let count = this.#countIn(from, day, most)
    let lengths = lengthBit(firstYear - 1) * 2 + lengthBit(firstYear)
    for (let year = firstYear; year < lastYear && count <= most; year++) {
      lengths = (lengths * 2 + lengthBit(year + 1)) & 7
      const nextDay = day + 365 + ((lengths >> 1) & 1)
      count += this.#inKind[weekdayOf(day) * 8 + lengths] ??= this.#countIn(day, nextDay, Infinity)
      day = nextDay
    }
    return count > most ? count : count + this.#countIn(day, untilExclusive, most)
  }
}

function lengthBit(year: number): number {
  return isLeapYear(year) ? 1 : 0
}

function yearOf(day: number): number {
  return Math.floor(monthOf(day) / 12)
}
