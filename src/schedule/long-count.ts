import { CYCLE_DAYS, dayNumber, isLeapYear, monthOf, weekdayOf } from './calendar.js'

/**
 * When what is counted comes again: in every year of the same length and first weekday, of which there are 14
 * kinds, with the calendar's cycle of 400 years, or not in any time that helps.
 */
export type Repeats = 'by year' | 'by cycle' | 'never'

/** Counts from one day up to another; when there are more than `most`, any number above it. */
export type CountDays = (from: number, untilExclusive: number, most: number) => number

// Fewer years than there are kinds of them are counted as they are.
const FEW_YEARS = 14

/** Counts over centuries without counting anything twice that is known to repeat. */
export class LongCount {
  readonly #repeats: Repeats
  readonly #countIn: CountDays
  readonly #inKind: (number | undefined)[] = []

  constructor(repeats: Repeats, countIn: CountDays) {
    this.#repeats = repeats
    this.#countIn = countIn
  }

  count(from: number, untilExclusive: number, most: number): number {
    if (this.#repeats === 'by year') return this.#countYears(from, untilExclusive, most)
    const cycles = Math.floor((untilExclusive - from) / CYCLE_DAYS)
    if (this.#repeats === 'never' || cycles < 1) return this.#countIn(from, untilExclusive, most)
    const inCycles = cycles * this.#countIn(from, from + CYCLE_DAYS, most)
    return inCycles > most
      ? inCycles
      : inCycles + this.#countIn(from + cycles * CYCLE_DAYS, untilExclusive, most)
  }

  #countYears(from: number, untilExclusive: number, most: number): number {
    const firstYear = yearOf(from) + 1
    const lastYear = yearOf(untilExclusive)
    if (lastYear - firstYear < FEW_YEARS) return this.#countIn(from, untilExclusive, most)
    let day = dayNumber(firstYear, 1, 1)
    let count = this.#countIn(from, day, most)
    for (let year = firstYear; year < lastYear && count <= most; year++) {
      const length = isLeapYear(year) ? 366 : 365
      const kind = weekdayOf(day) * 2 + length - 365
      count += this.#inKind[kind] ??= this.#countIn(day, day + length, Infinity)
      day += length
    }
    return count > most ? count : count + this.#countIn(day, untilExclusive, most)
  }
}

function yearOf(day: number): number {
  return Math.floor(monthOf(day) / 12)
}
