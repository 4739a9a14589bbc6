import { dayNumber, modulo, yearOf } from './calendar.js'
import type { CountDays } from './long-count.js'
import { CYCLE_YEARS, kindsOfYears } from './year-kinds.js'

/** Told of something that is named: how many units into the year, and what it counts for. */
export type Add = (offset: number, worth: number) => void

/** What is named, and the steps it must fall into to count. */
export interface Steps {
  /** What the steps are counted in. */
  readonly unit: 'day' | 'month' | 'year'
  /** One unit that is in step, and how many units pass until the next that is in step for the same reason. */
  readonly start: number
  readonly step: number
  /** How many units behind such a unit something counts; named twice, it counts twice. */
  readonly places: readonly number[]
  /** Whether a year takes anything from the lengths of its neighbours. */
  readonly hasNeighbours: boolean
  /** Tells all that is named in a year, in step or not, of a year by its first day and its length. */
  readonly each: (firstDay: number, length: number, add: Add) => void
}

// Years begin on seven weekdays and have two lengths.
const KINDS = 14

const unitsInYear = { day: 365, month: 12, year: 1 }

// What looking at one step takes, beside a year's look into a table.
const STEP_COST = 25

// What a table takes, and how many of its places take as much as one year's look.
const TABLE_COST = 60
const PLACES_AT_ONCE = 16

// Tables of so few places are kept: all of them together are a few kilobytes.
const FEW_PLACES = 64

/**
 * Counts over centuries what falls into step and, by itself, depends on nothing but the kind of its year. For every
 * kind of year there is a table with what counts if the steps begin so many units into it, so that a year is one
 * look into a table, whatever the rule. Large tables are kept no longer than it takes to count. Steps that are long
 * beside all that are looked at one by one.
 */
export class StepCount {
  readonly #steps: Steps
  readonly #countIn: CountDays
  readonly #boundary: (day: number) => number
  readonly #kept: (Uint32Array | undefined)[] = []

  /** `boundary` is the first day from a day on at which what began in the year before it is over. */
  constructor(steps: Steps, countIn: CountDays, boundary: (day: number) => number = (day) => day) {
    this.#steps = steps
    this.#countIn = countIn
    this.#boundary = boundary
  }

  /** Whether tables take less than looking at every step of so many years, each in so many places. */
  static isFor(unit: Steps['unit'], step: number, places: number, years: number): boolean {
    const tables = KINDS * (TABLE_COST + step / PLACES_AT_ONCE)
    const looks = (years * unitsInYear[unit] * places) / step
    return years >= KINDS * places && years + tables < looks * STEP_COST
  }

  count(from: number, untilExclusive: number, most: number): number {
    const firstYear = yearOf(from) + 1
    const yearOfUntil = yearOf(untilExclusive)
    // What began in the year before may not be over yet.
    const lastYear =
      this.#boundary(dayNumber(yearOfUntil, 1, 1)) > untilExclusive ? yearOfUntil - 1 : yearOfUntil
    const { unit, step, places } = this.#steps
    if (!StepCount.isFor(unit, step, places.length, lastYear - firstYear)) {
      return this.#countIn(from, untilExclusive, most)
    }
    const firstDay = this.#boundary(dayNumber(firstYear, 1, 1))
    const lastDay = this.#boundary(dayNumber(lastYear, 1, 1))
    let count = this.#countIn(from, firstDay, most)
    if (count <= most) count += this.#countYears(firstYear, lastYear, most - count)
    return count > most ? count : count + this.#countIn(lastDay, untilExclusive, most - count)
  }

  #countYears(firstYear: number, lastYear: number, most: number): number {
    const { unit, start, step } = this.#steps
    const kinds = kindsOfYears(this.#steps.hasNeighbours)
    const tables = step <= FEW_PLACES ? this.#kept : []
    let day = dayNumber(firstYear, 1, 1)
    const first = unit === 'day' ? day : unit === 'month' ? firstYear * 12 : firstYear
    let place = modulo(start - first, step)
    // What a year has beside 365 days, if it is days that count.
    const common = unit === 'day' ? 365 : unit === 'month' ? 12 : 1
    const leap = unit === 'day' ? 1 : 0
    let count = 0
    for (let year = firstYear; year < lastYear && count <= most;) {
      // This loop runs for every year of millennia: there is nothing in it that need not be.
      const end = Math.min(year + CYCLE_YEARS, lastYear)
      for (; year < end; year++) {
        const kind = kinds[year % CYCLE_YEARS]!
        const table = (tables[kind] ??= this.#tableOf(day, 365 + (kind & 1)))
        count += table[place]!
        day += 365 + (kind & 1)
        place -= common + leap * (kind & 1)
        place -= Math.floor(place / step) * step
      }
    }
    return count
  }

  #tableOf(firstDay: number, length: number): Uint32Array {
    const { step, places, each } = this.#steps
    const table = new Uint32Array(step)
    each(firstDay, length, (offset, worth) => {
      // Places and offsets are many: no call for each.
      for (const place of places) table[(((offset - place) % step) + step) % step]! += worth
    })
    return table
  }
}
