import { AnyTimeStarts, ListedStarts } from '../count/period-starts.js'
import { DAY_S, greatestDivisor, leastMultiple, modulo } from '../calendar/calendar.js'
import { DriftCount } from '../count/drift-count.js'
import { type Days, everyDay, LAST_DAY } from '../calendar/month-days.js'
import { type Grid, mayMatchDaysInYearKind, type Pattern } from '../calendar/pattern.js'
import { rankOf } from '../count/rank.js'
import { StepCount } from '../count/step-count.js'
import { PLAIN_KINDS } from '../count/year-kinds.js'
import { type FieldTimes, hasTimeBetween } from '../calendar/time-of-day.js'

// After this many jumps without a match, the rule matches rarely or never.
const RARE_AFTER_JUMPS = 40
const MAX_JUMPS = 2000

// Up to this many days, about five years, are counted day by day.
const DAYS_ONE_BY_ONE = 2000

// With more starts per day, a few hundred days exceed the highest COUNT. So counting day by day is fast
// enough.
const DENSE_STARTS_PER_DAY = 16

// The cost of finding a matching day.
const DAY_STEPS = 4

export interface ShortPeriodParts {
  /** The days, and the times of day, at which a period may start, in step or not. */
  readonly days: Days
  readonly starts: FieldTimes
  /** All times of day at which the rule may occur, in step or not. */
  readonly times: FieldTimes
  /** The occurrences within a period, in seconds from its start, ascending. */
  readonly offsets: readonly number[]
  /**
   * The start of one period, the length of the unit (an hour, a minute or a second), and the distance between
   * two starts. All in seconds.
   */
  readonly base: number
  readonly unit: number
  readonly step: number
  /** There are no occurrences before this local time. */
  readonly start: number
}

/**
 * Every n hours, minutes or seconds of local time. The occurrences within a period are the same for every
 * period, so they are listed once. The times of day at which periods start repeat after a fixed number of
 * periods, the cycle. So the allowed periods are known by their index in the cycle, and finding and counting
 * them is arithmetic.
 *
 * Proven by test/schedule/drift-count.test.ts, test/schedule/countdown.test.ts and
 * test/schedule/rrule.test.ts.
 */
export class ShortPeriods implements Pattern {
  readonly isAtLeastADayApart: boolean
  readonly yearPeriod: number
  readonly grid: Grid
  readonly #parts: ShortPeriodParts
  /** After how many periods the times of day repeat. */
  readonly #cycle: number
  /** The indexes in the cycle at which a period may start, ascending. Undefined if all may. */
  readonly #indexes: Int32Array | undefined
  #drift: DriftCount | undefined
  #stepCount: StepCount | undefined

  constructor(parts: ShortPeriodParts) {
    const { step, unit, starts, base, offsets } = parts
    this.isAtLeastADayApart = step >= DAY_S && offsets.length === 1
    this.#parts = parts
    this.grid = { base, step, span: offsets.at(-1) ?? 0 }
    this.#cycle = DAY_S / greatestDivisor(step, DAY_S)
    // If the step divides a day, all days are alike. Otherwise periods drift through the years.
    this.yearPeriod = this.#isSameEveryDay ? parts.days.yearPeriod : 0
    if (starts.count < DAY_S / unit) this.#indexes = startIndexes(starts, base, step, this.#cycle)
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

  mayMatchBetween(from: number, untilExclusive: number): boolean {
    const { offsets, base, step, days } = this.#parts
    if (offsets.length === 0) return false
    const first = Math.ceil((from - offsets.at(-1)! - base) / step)
    const last = Math.ceil((untilExclusive - offsets[0]! - base) / step) - 1
    if (last < first) return false
    const firstDay = this.#dayOf(first)
    const lastDay = this.#dayOf(last)
    if (lastDay <= firstDay + 1 && !days.includes(firstDay) && !days.includes(lastDay)) return false
    return this.#startFrom(first) <= last
  }

  mayMatchInYearKind(from: number, untilExclusive: number): boolean {
    // An occurrence is on the day on which its period starts, because a period lies within one hour, minute
    // or second.
    return mayMatchDaysInYearKind(this.#parts.days, from, untilExclusive)
  }

  mayMatchTimesOfDay(from: number, untilExclusive: number): boolean {
    return hasTimeBetween(this.#parts.times, from, untilExclusive)
  }

  count(from: number, untilExclusive: number, most: number): number {
    const { offsets, base, step, start } = this.#parts
    const since = Math.max(from, start)
    if (!(since < untilExclusive) || offsets.length === 0) return 0
    const first = Math.floor((since - base) / step)
    const last = Math.floor((untilExclusive - base) / step)
    const periods = this.#countPeriods(first, last, most / offsets.length + 1)
    return (
      periods * offsets.length - this.#countInPeriod(first, since) + this.#countInPeriod(last, untilExclusive)
    )
  }

  /** Counts the occurrences of a period before a local time. */
  #countInPeriod(period: number, untilExclusive: number): number {
    const { offsets, base, step, days } = this.#parts
    const day = this.#dayOf(period)
    if (this.#startFrom(period) !== period || !days.includes(day)) return 0
    return offsets.filter((offset) => base + period * step + offset < untilExclusive).length
  }

  #countPeriods(first: number, lastExclusive: number, most: number): number {
    const { days } = this.#parts
    if (days === everyDay) return this.#countStartsBefore(lastExclusive) - this.#countStartsBefore(first)
    const firstDay = this.#dayOf(first) + 1
    const lastDay = this.#dayOf(lastExclusive)
    const isFar = lastDay - firstDay > (this.#isSameEveryDay ? 1 : DAYS_ONE_BY_ONE)
    if (!isFar) return this.#countOnDays(first, lastExclusive, most)
    let count = this.#countOnDays(first, this.#firstOn(firstDay), most)
    if (count <= most) count += this.#countLong(firstDay, lastDay, most - count)
    return count > most
      ? count
      : count + this.#countOnDays(this.#firstOn(lastDay), lastExclusive, most - count)
  }

  /** Counts over whole days, by the method that takes the fewest steps. */
  #countLong(firstDay: number, lastDay: number, most: number): number {
    const { days } = this.#parts
    if (this.#isSameEveryDay)
      return days.count(firstDay, lastDay, most / this.#startsPerDay + 1) * this.#startsPerDay
    if (this.#isDense) return this.#countOnDays(this.#firstOn(firstDay), this.#firstOn(lastDay), most)
    const drift = this.#driftCount
    const { dayPeriod } = days
    if (dayPeriod !== undefined) {
      const repeatDays = leastMultiple(this.#cycleDays, dayPeriod)
      const repeats = Math.floor((lastDay - firstDay) / repeatDays)
      if (repeats > 1) {
        const inRepeat = this.#countLong(firstDay, firstDay + repeatDays, most)
        return inRepeat > most
          ? inRepeat
          : repeats * inRepeat + this.#countLong(firstDay + repeats * repeatDays, lastDay, most)
      }
    }
    const { matchingDays, steps } = drift.estimateFor(firstDay)
    const years = Math.min((lastDay - firstDay) / 365, most / (matchingDays * this.#startsPerDay))
    const indexCount = this.#indexes?.length ?? this.#cycle
    const tableSteps = matchingDays * (indexCount + DAY_STEPS) * PLAIN_KINDS + 2 * years
    if (steps * years <= tableSteps || !StepCount.isCheaper('day', this.#cycleDays, indexCount, years)) {
      return drift.count(firstDay, lastDay, most)
    }
    return (this.#stepCount ??= this.#stepCountOf(drift)).count(firstDay, lastDay, most)
  }

  /** How many allowed periods start on a day, on average. */
  get #startsPerDay(): number {
    return (this.#indexes?.length ?? this.#cycle) / this.#cycleDays
  }

  /** Whether periods start at the same times on every day. */
  get #isSameEveryDay(): boolean {
    return DAY_S % this.#parts.step === 0
  }

  get #isDense(): boolean {
    return this.#indexes !== undefined && this.#startsPerDay > DENSE_STARTS_PER_DAY
  }

  get #driftCount(): DriftCount {
    const { base, step, days } = this.#parts
    return (this.#drift ??= new DriftCount(
      days,
      this.#indexes === undefined
        ? new AnyTimeStarts(base, step)
        : new ListedStarts(base, step, this.#cycle, this.#indexes),
    ))
  }

  /** Counts by steps of `#cycleDays`, after which periods start at the same times of day again. */
  #stepCountOf(drift: DriftCount): StepCount {
    const { days } = this.#parts
    const start = this.#dayOf(0)
    const indexes = this.#indexes ?? Array.from({ length: this.#cycle }, (_, index) => index)
    return new StepCount(
      {
        unit: 'day',
        start,
        step: this.#cycleDays,
        offsets: Array.from(indexes, (index) => this.#dayOf(index) - start),
        // Week numbers exist in yearly rules only.
        dependsOnNeighbours: false,
        eachMatch: (firstDay, length, add) => {
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
    if (this.#indexes === undefined) {
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
      count += this.#countStartsBefore(nextDay) - this.#countStartsBefore(period)
      period = this.#periodFrom(nextDay, last)
    }
    return count
  }

  /**
   * Returns the first allowed period at or after `from`, or Infinity. It need not search beyond `lastDay`.
   */
  #periodFrom(from: number, lastDay = LAST_DAY): number {
    const { days } = this.#parts
    let period = this.#startFrom(from)
    for (let jump = 1; jump <= MAX_JUMPS; jump++) {
      const day = this.#dayOf(period)
      if (!(day <= lastDay)) break
      const allowed = days.firstFrom(day)
      if (allowed === day) return period
      if (allowed === Infinity) break
      const isRare = jump === RARE_AFTER_JUMPS && !this.#isDense
      const near = isRare ? this.#driftCount.dayBeforeFirst(allowed, lastDay + 1) : allowed
      period = this.#startFrom(this.#firstOn(near))
    }
    return Infinity
  }

  #dayOf(period: number): number {
    return Math.floor((this.#parts.base + period * this.#parts.step) / DAY_S)
  }

  /** After how many days periods start at the same times of day again. */
  get #cycleDays(): number {
    return (this.#cycle * this.#parts.step) / DAY_S
  }

  /** Returns the first period that starts on a day or later. */
  #firstOn(day: number): number {
    return Math.ceil((day * DAY_S - this.#parts.base) / this.#parts.step)
  }

  /** Returns the first period, at or after this one, that starts at an allowed time of day. */
  #startFrom(period: number): number {
    if (this.#indexes === undefined || period === Infinity) return period
    if (this.#indexes.length === 0) return Infinity
    const cycleStart = Math.floor(period / this.#cycle) * this.#cycle
    const rank = rankOf(this.#indexes, period - cycleStart)
    return rank < this.#indexes.length
      ? cycleStart + this.#indexes[rank]!
      : cycleStart + this.#cycle + this.#indexes[0]!
  }

  /** Counts the periods before this one, from the base on, that start at an allowed time of day. */
  #countStartsBefore(period: number): number {
    if (this.#indexes === undefined) return period
    const cycles = Math.floor(period / this.#cycle)
    return cycles * this.#indexes.length + rankOf(this.#indexes, period - cycles * this.#cycle)
  }
}

/** Solves `base + index * step = time`, modulo a day, for every allowed time. */
function startIndexes(starts: FieldTimes, base: number, step: number, cycle: number): Int32Array {
  const divisor = DAY_S / cycle
  const inverse = inverseOf(modulo(step / divisor, cycle), cycle)
  const origin = modulo(base, DAY_S)
  const indexes: number[] = []
  for (let i = 0; i < starts.count; i++) {
    const steps = (starts.at(i) - origin) / divisor
    if (Number.isInteger(steps)) indexes.push(modulo(modulo(steps, cycle) * inverse, cycle))
  }
  return Int32Array.from(indexes).sort()
}

/** Returns the modular inverse: `value` times it is 1 modulo `by`. The two must have no common divisor. */
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
