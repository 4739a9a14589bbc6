import { DAY_S } from './calendar.js'
import { rankOf } from './rank.js'

/** The days that are named in years of one kind, counted from the year's first. */
export interface NamedDays {
  /** The first day of each window and the day after its last, in turn. Outside of them no day is named. */
  readonly windows: Int16Array
  /** Whether every day of every window is named. */
  readonly isSolid: boolean
  /** 1 for a day that is named, else 0. */
  readonly named: Uint8Array
}

/** Periods, by the day they begin on: those that begin at an allowed time of day. */
export interface Beginnings {
  /** How many there are on a day, on average. */
  readonly perDay: number
  /** About what a window of days costs beside those that begin in it, each of which costs 1. */
  readonly windowCost: number
  /**
   * How many begin on the named days of a year, from one day on and up to another. The year is given by its first
   * day; all three are day numbers.
   */
  countYear(yearStart: number, days: NamedDays, from: number, untilExclusive: number): number
}

/** Periods that may begin at any time of day. */
export class EveryBeginning implements Beginnings {
  readonly perDay: number
  readonly windowCost = 1
  readonly #base: number
  readonly #step: number

  constructor(base: number, step: number) {
    this.perDay = DAY_S / step
    this.#base = base
    this.#step = step
  }

  // This runs for every year of millennia: there is nothing in it that need not be, and the same below.
  countYear(yearStart: number, days: NamedDays, from: number, untilExclusive: number): number {
    const { windows, isSolid, named } = days
    const step = this.#step
    const base = this.#base - yearStart * DAY_S
    const first = from - yearStart
    const last = untilExclusive - yearStart
    let count = 0
    for (let i = 0; i < windows.length; i += 2) {
      let period = Math.ceil((Math.max(windows[i]!, first) * DAY_S - base) / step)
      const end = Math.ceil((Math.min(windows[i + 1]!, last) * DAY_S - base) / step)
      if (isSolid) count += Math.max(end - period, 0)
      else for (; period < end; period++) count += named[Math.floor((base + period * step) / DAY_S)]!
    }
    return count
  }
}

// With more places a table of them takes longer to make than it saves.
const MOST_IN_TABLE = 9000

const BEYOND = 2 ** 31 - 1

/** Periods that may begin at certain times of day, known by their places in a cycle of periods. */
export class PlacedBeginnings implements Beginnings {
  readonly perDay: number
  readonly windowCost: number
  readonly #base: number
  readonly #step: number
  readonly #cycle: number
  /** Ascending, through a cycle and the year behind it; the last is beyond any. */
  readonly #places: Int32Array
  /** How many places there are before every `#width`-th of the cycle, unless they are too many to say. */
  readonly #before: Int32Array | undefined
  readonly #width: number

  constructor(base: number, step: number, cycle: number, places: Int32Array) {
    const count = places.length
    this.#base = base
    this.#step = step
    this.#cycle = cycle
    this.#places = withYear(places, cycle, Math.ceil((LONGEST_YEAR * DAY_S) / step))
    this.perDay = (count * DAY_S) / (cycle * step)
    this.#width = Math.ceil(cycle / Math.max(count, 1))
    this.#before = count <= MOST_IN_TABLE ? this.#countBefore() : undefined
    this.windowCost = this.#before === undefined ? 20 : 1.5
  }

  countYear(yearStart: number, days: NamedDays, from: number, untilExclusive: number): number {
    const { windows, named } = days
    const step = this.#step
    const cycle = this.#cycle
    const places = this.#places
    const base = this.#base - yearStart * DAY_S
    const first = from - yearStart
    const last = untilExclusive - yearStart
    let count = 0
    for (let i = 0; i < windows.length; i += 2) {
      const period = Math.ceil((Math.max(windows[i]!, first) * DAY_S - base) / step)
      const end = Math.ceil((Math.min(windows[i + 1]!, last) * DAY_S - base) / step)
      const turn = Math.floor(period / cycle) * cycle
      let place = this.#before?.[Math.floor((period - turn) / this.#width)] ?? rankOf(places, period - turn)
      while (places[place]! < period - turn) place++
      for (; places[place]! < end - turn; place++)
        count += named[Math.floor((base + (turn + places[place]!) * step) / DAY_S)]!
    }
    return count
  }

  #countBefore(): Int32Array {
    const before = new Int32Array(Math.ceil(this.#cycle / this.#width))
    let place = 0
    for (let i = 0; i < before.length; i++) {
      while (this.#places[place]! < i * this.#width) place++
      before[i] = place
    }
    return before
  }
}

const LONGEST_YEAR = 366

/** Some places of a cycle, those of the `periods` behind it, and one that is never reached. */
function withYear(places: Int32Array, cycle: number, periods: number): Int32Array {
  const turns = Math.floor(periods / cycle)
  const count = (turns + 1) * places.length + rankOf(places, periods - turns * cycle)
  const longer = new Int32Array(count + 1)
  longer.set(places)
  for (let i = places.length; i < count; i++) longer[i] = longer[i - places.length]! + cycle
  longer[count] = BEYOND
  return longer
}
