import { DAY_S } from '../calendar/calendar.js'
import { rankOf } from './rank.js'

/** The matching days of years of one kind, counted from the first day of the year. */
export interface MatchingDays {
  /** Pairs: the first day of a window and the day after its last. No day outside the windows matches. */
  readonly windows: Int16Array
  /** Whether every day of every window matches. */
  readonly isSolid: boolean
  /** 1 for a matching day, otherwise 0. */
  readonly isMatch: Uint8Array
}

/** Periods that start at an allowed time of day, by the day on which they start. */
export interface PeriodStarts {
  /** How many start on a day, on average. */
  readonly perDay: number
  /** About what a window costs, apart from the periods that start in it. Each of those costs 1. */
  readonly windowCost: number
  /**
   * Counts the periods that start on the matching days of a year, from one day up to another. `yearStart` is
   * the year's first day. All three are day numbers.
   */
  countYear(yearStart: number, days: MatchingDays, from: number, untilExclusive: number): number
}

/** Periods that may start at any time of day. */
export class AnyTimeStarts implements PeriodStarts {
  readonly perDay: number
  readonly windowCost = 1
  readonly #base: number
  readonly #step: number

  constructor(base: number, step: number) {
    this.perDay = DAY_S / step
    this.#base = base
    this.#step = step
  }

  // This runs for every year of several millennia. Keep it short. The same goes for the other `countYear`
  // below.
  countYear(yearStart: number, days: MatchingDays, from: number, untilExclusive: number): number {
    const { windows, isSolid, isMatch } = days
    const step = this.#step
    const base = this.#base - yearStart * DAY_S
    const first = from - yearStart
    const last = untilExclusive - yearStart
    let count = 0
    for (let i = 0; i < windows.length; i += 2) {
      let period = Math.ceil((Math.max(windows[i]!, first) * DAY_S - base) / step)
      const end = Math.ceil((Math.min(windows[i + 1]!, last) * DAY_S - base) / step)
      if (isSolid) count += Math.max(end - period, 0)
      else for (; period < end; period++) count += isMatch[Math.floor((base + period * step) / DAY_S)]!
    }
    return count
  }
}

// Beyond this many indexes, building the table takes longer than it saves.
const RANK_TABLE_LIMIT = 9000

const BEYOND = 2 ** 31 - 1

/**
 * Periods that may start at certain times of day. The times of day repeat after a cycle of periods, so the
 * allowed periods are known by their index in that cycle.
 */
export class ListedStarts implements PeriodStarts {
  readonly perDay: number
  readonly windowCost: number
  readonly #base: number
  readonly #step: number
  readonly #cycle: number
  /** Ascending, for one cycle and the year after it. The last entry is greater than any index. */
  readonly #indexes: Int32Array
  /**
   * How many indexes come before every `#rankTableStride`-th period of the cycle. Undefined if there are too
   * many indexes.
   */
  readonly #rankTable: Int32Array | undefined
  readonly #rankTableStride: number

  constructor(base: number, step: number, cycle: number, indexes: Int32Array) {
    const count = indexes.length
    this.#base = base
    this.#step = step
    this.#cycle = cycle
    this.#indexes = withYear(indexes, cycle, Math.ceil((LONGEST_YEAR_DAYS * DAY_S) / step))
    this.perDay = (count * DAY_S) / (cycle * step)
    this.#rankTableStride = Math.ceil(cycle / Math.max(count, 1))
    this.#rankTable = count <= RANK_TABLE_LIMIT ? this.#makeRankTable() : undefined
    this.windowCost = this.#rankTable === undefined ? 20 : 1.5
  }

  countYear(yearStart: number, days: MatchingDays, from: number, untilExclusive: number): number {
    const { windows, isMatch } = days
    const step = this.#step
    const cycle = this.#cycle
    const indexes = this.#indexes
    const base = this.#base - yearStart * DAY_S
    const first = from - yearStart
    const last = untilExclusive - yearStart
    let count = 0
    for (let i = 0; i < windows.length; i += 2) {
      const period = Math.ceil((Math.max(windows[i]!, first) * DAY_S - base) / step)
      const end = Math.ceil((Math.min(windows[i + 1]!, last) * DAY_S - base) / step)
      const cycleStart = Math.floor(period / cycle) * cycle
      let rank =
        this.#rankTable?.[Math.floor((period - cycleStart) / this.#rankTableStride)] ??
        rankOf(indexes, period - cycleStart)
      while (indexes[rank]! < period - cycleStart) rank++
      for (; indexes[rank]! < end - cycleStart; rank++)
        count += isMatch[Math.floor((base + (cycleStart + indexes[rank]!) * step) / DAY_S)]!
    }
    return count
  }

  #makeRankTable(): Int32Array {
    const before = new Int32Array(Math.ceil(this.#cycle / this.#rankTableStride))
    let rank = 0
    for (let i = 0; i < before.length; i++) {
      while (this.#indexes[rank]! < i * this.#rankTableStride) rank++
      before[i] = rank
    }
    return before
  }
}

const LONGEST_YEAR_DAYS = 366

/** Extends the indexes of a cycle by `periods` more periods and by an end mark that is never reached. */
function withYear(indexes: Int32Array, cycle: number, periods: number): Int32Array {
  const cycles = Math.floor(periods / cycle)
  const count = (cycles + 1) * indexes.length + rankOf(indexes, periods - cycles * cycle)
  const longer = new Int32Array(count + 1)
  longer.set(indexes)
  for (let i = indexes.length; i < count; i++) longer[i] = longer[i - indexes.length]! + cycle
  longer[count] = BEYOND
  return longer
}
