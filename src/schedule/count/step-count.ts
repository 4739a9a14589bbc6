import { dayNumber, modulo, yearOf } from '../calendar/calendar.js'
import type { CountDays } from './year-kind-count.js'
import { CYCLE_YEARS, kindsOfYears, PLAIN_KINDS } from './year-kinds.js'

/** Receives a match: how many units into the year it is, and how much it counts. */
export type AddMatch = (offset: number, weight: number) => void

/** Matches that count only if they are in step with an interval. */
export interface Steps {
  /** The unit of `start`, `step` and `offsets`. */
  readonly unit: 'day' | 'month' | 'year'
  /** One unit that is in step, and the distance from one such unit to the next. */
  readonly start: number
  readonly step: number
  /**
   * How many units after a unit that is in step a match may be. An offset that is given twice counts twice.
   */
  readonly offsets: readonly number[]
  /** Whether a year's matches depend on the lengths of the years next to it. */
  readonly dependsOnNeighbours: boolean
  /** Reports every match of a year, in step or not. */
  readonly eachMatch: (firstDay: number, length: number, add: AddMatch) => void
}

const unitsInYear = { day: 365, month: 12, year: 1 }

// The cost of visiting one step, relative to one table lookup.
const STEP_COST = 25

// The cost of making a table: a fixed part, and how many entries cost as much as one lookup.
const TABLE_COST = 60
const ENTRIES_PER_LOOKUP = 16

// Tables with at most this many entries are kept. All of them together take a few kilobytes.
const SMALL_TABLE = 64

/**
 * Counts, over centuries, matches that must be in step with an interval and otherwise depend only on the kind
 * of year. For each kind of year, a table gives the count for every phase of the interval. So a year takes
 * one table lookup, whatever the rule. Large tables are dropped after each count. If the interval is very
 * long, each step is visited instead.
 *
 * Proven by test/schedule/step-count.test.ts.
 */
export class StepCount {
  readonly #steps: Steps
  readonly #countIn: CountDays
  readonly #boundary: (day: number) => number
  readonly #smallTables: (Uint32Array | undefined)[] = []

  /**
   * `boundary` returns the first day, from a given day on, on which no period of the year before is still
   * running.
   */
  constructor(steps: Steps, countIn: CountDays, boundary: (day: number) => number = (day) => day) {
    this.#steps = steps
    this.#countIn = countIn
    this.#boundary = boundary
  }

  /** Whether tables are cheaper than visiting every step of this many years at this many offsets. */
  static isCheaper(unit: Steps['unit'], step: number, offsetCount: number, years: number): boolean {
    const tables = PLAIN_KINDS * (TABLE_COST + step / ENTRIES_PER_LOOKUP)
    const visits = (years * unitsInYear[unit] * offsetCount) / step
    return years >= PLAIN_KINDS * offsetCount && years + tables < visits * STEP_COST
  }

  count(from: number, untilExclusive: number, most: number): number {
    const firstYear = yearOf(from) + 1
    const yearOfUntil = yearOf(untilExclusive)
    // A period that began in the year before may not be over yet.
    const lastYear =
      this.#boundary(dayNumber(yearOfUntil, 1, 1)) > untilExclusive ? yearOfUntil - 1 : yearOfUntil
    const { unit, step, offsets } = this.#steps
    if (!StepCount.isCheaper(unit, step, offsets.length, lastYear - firstYear)) {
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
    const kinds = kindsOfYears(this.#steps.dependsOnNeighbours)
    const tables = step <= SMALL_TABLE ? this.#smallTables : []
    let day = dayNumber(firstYear, 1, 1)
    const first = unit === 'day' ? day : unit === 'month' ? firstYear * 12 : firstYear
    let phase = modulo(start - first, step)
    // How many units a common year has, and how many more a leap year has.
    const common = unit === 'day' ? 365 : unit === 'month' ? 12 : 1
    const leap = unit === 'day' ? 1 : 0
    let count = 0
    for (let year = firstYear; year < lastYear && count <= most;) {
      // This loop runs for every year of several millennia. Keep it short.
      const end = Math.min(year + CYCLE_YEARS, lastYear)
      for (; year < end; year++) {
        const kind = kinds[year % CYCLE_YEARS]!
        const table = (tables[kind] ??= this.#tableOf(day, 365 + (kind & 1)))
        count += table[phase]!
        day += 365 + (kind & 1)
        phase -= common + leap * (kind & 1)
        phase -= Math.floor(phase / step) * step
      }
    }
    return count
  }

  #tableOf(firstDay: number, length: number): Uint32Array {
    const { step, offsets, eachMatch } = this.#steps
    const table = new Uint32Array(step)
    eachMatch(firstDay, length, (offset, weight) => {
      // This runs for every pair of match and offset, so it computes the modulo inline.
      for (const stepOffset of offsets) table[(((offset - stepOffset) % step) + step) % step]! += weight
    })
    return table
  }
}
