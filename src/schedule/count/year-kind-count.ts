import { dayNumber, leastMultiple, modulo, yearOf } from '../calendar/calendar.js'
import { CYCLE_YEARS, kindsOfYears, KIND_LIMIT } from './year-kinds.js'

/** Counts from one day up to another. Above `most`, the result may be any number greater than `most`. */
export type CountDays = (from: number, untilExclusive: number, most: number) => number

// There are about as many kinds of years, so a shorter range gains nothing.
const FEW_YEARS = 28

/**
 * Counts, over centuries, matches that depend only on the kind of year, or on the kind and on the year's
 * phase in a period of a few years. Each phase has hardly more than 28 kinds. Each kind is counted once, and
 * what repeats after some centuries is multiplied.
 *
 * Proven by test/schedule/year-kind-count.test.ts.
 */
export class YearKindCount {
  readonly #countIn: CountDays
  readonly #period: number
  readonly #dependsOnNeighbours: boolean
  readonly #countByKind: (number | undefined)[] = []

  /**
   * `period` is 1 if all years of a kind are equal. `dependsOnNeighbours` says whether the lengths of the year before
   * and the year after matter.
   */
  constructor(countIn: CountDays, period: number, dependsOnNeighbours = true) {
    this.#countIn = countIn
    this.#period = period
    this.#dependsOnNeighbours = dependsOnNeighbours
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
    const countByKind = this.#countByKind
    const cycle = leastMultiple(CYCLE_YEARS, period)
    const cycles = Math.floor((lastYear - firstYear) / cycle)
    const restYear = lastYear - cycles * cycle
    const endYear = cycles > 0 ? firstYear + cycle : lastYear
    const kinds = kindsOfYears(this.#dependsOnNeighbours)
    let count = 0
    let countOfRest = 0
    let day = dayNumber(firstYear, 1, 1)
    let phase = modulo(firstYear, period)
    for (let year = firstYear; year < endYear && count <= most;) {
      if (year === restYear) countOfRest = count
      // Run without further checks up to the next year that needs one.
      const stop = year < restYear && restYear < endYear ? restYear : endYear
      const end = Math.min(year + CYCLE_YEARS, stop)
      for (; year < end; year++) {
        const kind = kinds[year % CYCLE_YEARS]!
        const length = 365 + (kind & 1)
        count += countByKind[phase * KIND_LIMIT + kind] ??= this.#countIn(day, day + length, Infinity)
        day += length
        phase = (phase + 1) % period
      }
    }
    return cycles > 0 ? cycles * count + countOfRest : count
  }
}
