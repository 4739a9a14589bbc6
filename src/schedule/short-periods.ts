import { EveryBeginning, PlacedBeginnings } from './beginnings.js'
import { DAY_S, greatestDivisor, leastMultiple, modulo } from './calendar.js'
import { DriftCount } from './drift-count.js'
import { type Days, everyDay, LAST_DAY } from './month-days.js'
import { type Grid, isNamedBetween, type Pattern } from './pattern.js'
import { rankOf } from './rank.js'
import { StepCount } from './step-count.js'
import { type FieldTimes, hasTimeBetween } from './time-of-day.js'

// A rule that meets its days in none of so many tries meets them rarely, or not at all.
const MANY_LEAPS = 40
const MOST_LEAPS = 2000

// Some years: fewer days are looked at one by one.
const FEW_DAYS = 2000

// If there are so many on a day it takes a few hundred days to meet as many as anybody counts.
const DENSE = 16

// What finding a named day takes, and how many kinds of years there are.
const DAY_STEPS = 4
const KINDS = 14

export interface ShortPeriodParts {
  /** The days, and the times on them, at which a period may begin, in step or not. */
  readonly days: Days
  readonly beginnings: FieldTimes
  /** All times of day at which it may occur, in step or not. */
  readonly times: FieldTimes
  /** When it occurs within a period, in seconds from its beginning, ascending. */
  readonly offsets: readonly number[]
  /** The beginning of one period, what it counts (an hour, a minute, a second), and from one to the next. */
  readonly base: number
  readonly unit: number
  readonly step: number
  /** None before this local time. */
  readonly start: number
}

/**
 * Every so many hours, minutes or seconds on the wall. What is shorter than the unit is the same in every
 * period and listed once. The times of day at which periods begin come around after a fixed number of periods,
 * so those that are allowed are known by their place in that cycle: none is looked for, and many are counted at
 * once.
 */
export class ShortPeriods implements Pattern {
  readonly daysApart: boolean
  readonly yearPeriod: number
  readonly grid: Grid
  readonly #parts: ShortPeriodParts
  /** How many periods pass until they begin at the same times of day again. */
  readonly #cycle: number
  /** The places in the cycle, ascending, at which a period may begin; undefined when all are. */
  readonly #places: Int32Array | undefined
  #drift: DriftCount | undefined
  #stepCount: StepCount | undefined

  constructor(parts: ShortPeriodParts) {
    const { step, unit, beginnings, base, offsets } = parts
    this.daysApart = step >= DAY_S && offsets.length === 1
    this.#parts = parts
    this.grid = { base, step, span: offsets.at(-1) ?? 0 }
    this.#cycle = DAY_S / greatestDivisor(step, DAY_S)
    // Periods that fit into a day are the same on each; others drift through the years.
    this.yearPeriod = this.#isDaily ? parts.days.yearPeriod : 0
    if (beginnings.count < DAY_S / unit) this.#places = placesOf(beginnings, base, step, this.#cycle)
  }

  firstFrom(local: number): number {
    const { offsets, base, step, start } = this.#parts
    if (offsets.length === 0) return Infinity
    const from = Math.max(local, start)
    const period = Math.floor((from - base) / step)
    const found = this.#periodFrom(period)
    if (found !== period) return base + found * step + offsets[0]!
    for (const offset of offsets)
      if (base + period * step + offset >= from) return base + period * step + offset
    return base + this.#periodFrom(period + 1) * step + offsets[0]!
  }

  mayBeIn(from: number, untilExclusive: number): boolean {
    const { offsets, base, step, days } = this.#parts
    if (offsets.length === 0) return false
    const first = Math.ceil((from - offsets.at(-1)! - base) / step)
    const last = Math.ceil((untilExclusive - offsets[0]! - base) / step) - 1
    if (last < first) return false
    const firstDay = this.#dayOf(first)
    const lastDay = this.#dayOf(last)
    if (lastDay <= firstDay + 1 && !days.includes(firstDay) && !days.includes(lastDay)) return false
    return this.#placeFrom(first) <= last
  }

  mayBeInKind(from: number, untilExclusive: number): boolean {
    // What occurs on a day began on it: a period is what it is in one hour, minute or second.
    return isNamedBetween(this.#parts.days, from, untilExclusive)
  }

  mayBeAt(from: number, untilExclusive: number): boolean {
    return hasTimeBetween(this.#parts.times, from, untilExclusive)
  }

  count(from: number, untilExclusive: number, most: number): number {
    const { offsets, base, step, start } = this.#parts
    const since = Math.max(from, start)
    if (!(since < untilExclusive) || offsets.length === 0) return 0
    const first = Math.floor((since - base) / step)
    const last = Math.floor((untilExclusive - base) / step)
    const periods = this.#countPeriods(first, last, most / offsets.length + 1)
    return periods * offsets.length - this.#countIn(first, since) + this.#countIn(last, untilExclusive)
  }

  /** How many of a period's own lie before a local time. */
  #countIn(period: number, untilExclusive: number): number {
    const { offsets, base, step, days } = this.#parts
    const day = this.#dayOf(period)
    if (this.#placeFrom(period) !== period || !days.includes(day)) return 0
    return offsets.filter((offset) => base + period * step + offset < untilExclusive).length
  }

  #countPeriods(first: number, lastExclusive: number, most: number): number {
    const { days } = this.#parts
    if (days === everyDay) return this.#countPlaces(lastExclusive) - this.#countPlaces(first)
    const firstDay = this.#dayOf(first) + 1
    const lastDay = this.#dayOf(lastExclusive)
    const isFar = lastDay - firstDay > (this.#isDaily ? 1 : FEW_DAYS)
    if (!isFar) return this.#countOnDays(first, lastExclusive, most)
    let count = this.#countOnDays(first, this.#firstOn(firstDay), most)
    if (count <= most) count += this.#countLong(firstDay, lastDay, most - count)
    return count > most
      ? count
      : count + this.#countOnDays(this.#firstOn(lastDay), lastExclusive, most - count)
  }

  /** Counts on whole days by whatever takes the fewest steps. */
  #countLong(firstDay: number, lastDay: number, most: number): number {
    const { days } = this.#parts
    if (this.#isDaily) return days.count(firstDay, lastDay, most / this.#perDay + 1) * this.#perDay
    if (this.#isDense) return this.#countOnDays(this.#firstOn(firstDay), this.#firstOn(lastDay), most)
    const drift = this.#driftCount
    const { dayPeriod } = days
    if (dayPeriod !== undefined) {
      const turn = leastMultiple(this.#turnDays, dayPeriod)
      const turns = Math.floor((lastDay - firstDay) / turn)
      if (turns > 1) {
        const inTurn = this.#countLong(firstDay, firstDay + turn, most)
        return inTurn > most
          ? inTurn
          : turns * inTurn + this.#countLong(firstDay + turns * turn, lastDay, most)
      }
    }
    const { named, steps } = drift.sampleOf(firstDay)
    const years = Math.min((lastDay - firstDay) / 365, most / (named * this.#perDay))
    const places = this.#places?.length ?? this.#cycle
    const inTables = named * (places + DAY_STEPS) * KINDS + 2 * years
    if (steps * years <= inTables || !StepCount.isFor('day', this.#turnDays, places, years)) {
      return drift.count(firstDay, lastDay, most)
    }
    return (this.#stepCount ??= this.#stepCountOf(drift)).count(firstDay, lastDay, most)
  }

  /** How many allowed periods begin on a day, on average. */
  get #perDay(): number {
    return (this.#places?.length ?? this.#cycle) / this.#turnDays
  }

  /** Whether periods begin at the same times on every day. */
  get #isDaily(): boolean {
    return DAY_S % this.#parts.step === 0
  }

  get #isDense(): boolean {
    return this.#places !== undefined && this.#perDay > DENSE
  }

  get #driftCount(): DriftCount {
    const { base, step, days } = this.#parts
    return (this.#drift ??= new DriftCount(
      days,
      this.#places === undefined
        ? new EveryBeginning(base, step)
        : new PlacedBeginnings(base, step, this.#cycle, this.#places),
    ))
  }

  /** After a fixed number of days periods begin at the same times of day: only then, and on a day, do they count. */
  #stepCountOf(drift: DriftCount): StepCount {
    const { days } = this.#parts
    const start = this.#dayOf(0)
    const places = this.#places ?? Array.from({ length: this.#cycle }, (_, place) => place)
    return new StepCount(
      {
        unit: 'day',
        start,
        step: this.#turnDays,
        places: Array.from(places, (place) => this.#dayOf(place) - start),
        // Only rules of years name week numbers.
        hasNeighbours: false,
        each: (firstDay, length, add) => {
          let day = days.firstFrom(firstDay)
          for (; day < firstDay + length; day = days.firstFrom(day + 1)) add(day - firstDay, 1)
        },
      },
      (from, until, most) => drift.count(from, until, most),
    )
  }

  /** Counts day by day. */
  #countOnDays(first: number, lastExclusive: number, most: number): number {
    const { days, base, step } = this.#parts
    let count = 0
    if (this.#places === undefined) {
      const lastDay = this.#dayOf(lastExclusive - 1)
      for (let day = days.firstFrom(this.#dayOf(first)); day <= lastDay && count <= most;) {
        const begin = Math.max(first, Math.ceil((day * DAY_S - base) / step))
        count += Math.min(lastExclusive, Math.ceil(((day + 1) * DAY_S - base) / step)) - begin
        day = days.firstFrom(day + 1)
      }
      return count
    }
    const last = this.#dayOf(lastExclusive - 1)
    let period = this.#periodFrom(first, last)
    while (period < lastExclusive && count <= most) {
      const nextDay = Math.min(this.#firstOn(this.#dayOf(period) + 1), lastExclusive)
      count += this.#countPlaces(nextDay) - this.#countPlaces(period)
      period = this.#periodFrom(nextDay, last)
    }
    return count
  }

  /** The first allowed period at or after one, or Infinity; after the last day that matters none need be found. */
  #periodFrom(from: number, lastDay = LAST_DAY): number {
    const { days } = this.#parts
    let period = this.#placeFrom(from)
    for (let leap = 1; leap <= MOST_LEAPS; leap++) {
      const day = this.#dayOf(period)
      if (!(day <= lastDay)) break
      const allowed = days.firstFrom(day)
      if (allowed === day) return period
      if (allowed === Infinity) break
      const isRare = leap === MANY_LEAPS && !this.#isDense
      const near = isRare ? this.#driftCount.dayBeforeFirst(allowed, lastDay + 1) : allowed
      period = this.#placeFrom(this.#firstOn(near))
    }
    return Infinity
  }

  #dayOf(period: number): number {
    return Math.floor((this.#parts.base + period * this.#parts.step) / DAY_S)
  }

  /** How many days pass until periods begin at the same times of day again. */
  get #turnDays(): number {
    return (this.#cycle * this.#parts.step) / DAY_S
  }

  /** The first period that begins on a day or after it. */
  #firstOn(day: number): number {
    return Math.ceil((day * DAY_S - this.#parts.base) / this.#parts.step)
  }

  /** The first period at or after one that begins at an allowed time of day. */
  #placeFrom(period: number): number {
    if (this.#places === undefined || period === Infinity) return period
    if (this.#places.length === 0) return Infinity
    const turn = Math.floor(period / this.#cycle) * this.#cycle
    const rank = rankOf(this.#places, period - turn)
    return rank < this.#places.length ? turn + this.#places[rank]! : turn + this.#cycle + this.#places[0]!
  }

  /** How many periods before one, counted from the base, begin at an allowed time of day. */
  #countPlaces(period: number): number {
    if (this.#places === undefined) return period
    const turns = Math.floor(period / this.#cycle)
    return turns * this.#places.length + rankOf(this.#places, period - turns * this.#cycle)
  }
}

/** Solves `base + place * step = time` on the clock for every allowed time. */
function placesOf(beginnings: FieldTimes, base: number, step: number, cycle: number): Int32Array {
  const divisor = DAY_S / cycle
  const inverse = inverseOf(modulo(step / divisor, cycle), cycle)
  const origin = modulo(base, DAY_S)
  const places: number[] = []
  for (let i = 0; i < beginnings.count; i++) {
    const steps = (beginnings.at(i) - origin) / divisor
    if (Number.isInteger(steps)) places.push(modulo(modulo(steps, cycle) * inverse, cycle))
  }
  return Int32Array.from(places).sort()
}

/** The number that multiplied by `value` leaves 1 when divided by `by`, to which `value` has no common divisor. */
function inverseOf(value: number, by: number): number {
  let [rest, nextRest] = [by, value]
  let [factor, nextFactor] = [0, 1]
  while (nextRest !== 0) {
    const quotient = Math.floor(rest / nextRest)
    ;[rest, nextRest] = [nextRest, rest - quotient * nextRest]
    ;[factor, nextFactor] = [nextFactor, factor - quotient * nextFactor]
  }
  return modulo(factor, by)
}
