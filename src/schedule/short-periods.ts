import type { Pattern } from './pattern.js'

// A rule of hours, minutes or seconds that finds nothing in so many leaps meets its own filter too rarely.
const MOST_LEAPS = 20_000

export interface ShortPeriodParts {
  /** The moments at which a period may begin, in step or not. */
  readonly filter: Pattern
  /** When it occurs within a period, in seconds from its beginning, ascending. */
  readonly offsets: readonly number[]
  /** The beginning of one period, and the seconds from one to the next. */
  readonly base: number
  readonly step: number
  /** None before this local time. */
  readonly start: number
}

/**
 * Every so many hours, minutes or seconds on the wall. What is shorter than the unit is the same in every
 * period and listed once; what is longer is a filter, by which whole stretches of periods are leapt over.
 */
export class ShortPeriods implements Pattern {
  readonly #parts: ShortPeriodParts

  constructor(parts: ShortPeriodParts) {
    this.#parts = parts
  }

  firstFrom(local: number): number {
    const { filter, offsets, base, step, start } = this.#parts
    if (offsets.length === 0) return Infinity
    const from = Math.max(local, start)
    let period = base + Math.floor((from - base) / step) * step
    if (filter.firstFrom(period) === period) {
      for (const offset of offsets) if (period + offset >= from) return period + offset
    }
    period += step
    for (let leap = 0; leap < MOST_LEAPS && period < Infinity; leap++) {
      const allowed = filter.firstFrom(period)
      if (allowed === period) return period + offsets[0]!
      period = base + Math.ceil((allowed - base) / step) * step
    }
    return Infinity
  }
}
