import { dayNumber, leastMultiple, modulo, yearOf } from './calendar.js'
import { CYCLE_YEARS, kindsOfYears, MOST_KINDS } from './year-kinds.js'

/** Counts from one day up to another; when there are more than `most`, any number above it. */
export type CountDays = (from: number, untilExclusive: number, most: number) => number

// About as many as there are kinds of years: fewer are counted as they are.
const FEW_YEARS = 28

/**
 * Counts over centuries what depends on nothing but the lengths of a year and of its neighbours and the weekday it
 * begins on, or on that and the year's place in a period of a few years. There are hardly more than 28 such kinds
 * of years for each place: each is counted once, and what comes again after some centuries is multiplied.
 */
export class LongCount {
  readonly #countIn: CountDays
  readonly #period: number
  readonly #hasNeighbours: boolean
  readonly #inKind: (number | undefined)[] = []

  /**
   * `period` is 1 when years of one kind are all alike; `hasNeighbours` says whether a year may take anything from
   * the lengths of its neighbours.
   */
  constructor(countIn: CountDays, period: number, hasNeighbours = true) {
    this.#countIn = countIn
    this.#period = period
    this.#hasNeighbours = hasNeighbours
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
    const kinds = kindsOfYears(this.#hasNeighbours)
    let count = 0
    let countOfRest = 0
    let day = dayNumber(firstYear, 1, 1)
    let place = modulo(firstYear, period)
    for (let year = firstYear; year < endYear && count <= most;) {
      if (year === restYear) countOfRest = count
      // Up to the next year at which there is anything to be looked at but the count.
      const stop = year < restYear && restYear < endYear ? restYear : endYear
      const end = Math.min(year + CYCLE_YEARS, stop)
      for (; year < end; year++) {
        const kind = kinds[year % CYCLE_YEARS]!
        const length = 365 + (kind & 1)
        count += inKind[place * MOST_KINDS + kind] ??= this.#countIn(day, day + length, Infinity)
        day += length
        place = (place + 1) % period
      }
    }
    return cycles > 0 ? cycles * count + countOfRest : count
  }
}
