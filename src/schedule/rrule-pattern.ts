import { DAY_S, modulo, monthIndex, monthOf, monthStart, weekdayOf } from './calendar.js'
import { FieldSet } from './field-set.js'
import { type Days, MonthDays } from './month-days.js'
import { DayTimes, type Pattern } from './pattern.js'
import { RruleDays } from './rrule-days.js'
import type { Frequency, RruleParts } from './rrule-text.js'
import { FieldTimes, type TimesOfDay } from './time-of-day.js'

/**
 * Whether a rule counts hours, minutes or seconds and names no hour: such a rule follows time as it passes, and
 * clocks that go back bring it local times before its start, which count.
 */
export function isRunning(parts: RruleParts): boolean {
  return unitSeconds[parts.freq] !== undefined && parts.hours.length === 0
}

/** The local times of a recurrence rule that starts at a local time; none before it unless it is running. */
export function rrulePattern(parts: RruleParts, start: number): Pattern {
  const startDay = Math.floor(start / DAY_S)
  const full = withStart(parts, start, startDay)
  const hours = new FieldSet(orAll(full.hours, 24))
  const minutes = new FieldSet(orAll(full.minutes, 60))
  const seconds = new FieldSet(orAll(full.seconds, 60))
  const unit = unitSeconds[parts.freq]
  if (unit !== undefined) {
    const days = new MonthDays(new RruleDays(full, startDay, 1))
    return new ShortPeriods({ days, hours, minutes, seconds, unit, parts, start })
  }
  const times = new FieldTimes(hours, minutes, seconds)
  if (parts.setPositions.length > 0) {
    return new PickedPositions(new MonthDays(new RruleDays(full, startDay, 1)), times, full, start)
  }
  return new Since(new DayTimes(new MonthDays(new RruleDays(full, startDay, parts.interval)), times), start)
}

const unitSeconds: Partial<Record<Frequency, number>> = { HOURLY: 3600, MINUTELY: 60, SECONDLY: 1 }

/** Fills in from the start what the rule leaves open, as RFC 5545 asks. */
function withStart(parts: RruleParts, start: number, startDay: number): RruleParts {
  const { freq } = parts
  const second = start - startDay * DAY_S
  const isOpen =
    parts.weekdays.length + parts.monthDays.length + parts.yearDays.length + parts.weekNumbers.length === 0
  const takesDate = isOpen && (freq === 'YEARLY' || freq === 'MONTHLY')
  const takesWeekday =
    (isOpen && freq === 'WEEKLY') || (parts.weekNumbers.length > 0 && parts.weekdays.length === 0)
  const startMonth = monthOf(startDay)
  const isShort = (frequencies: readonly Frequency[]) => frequencies.includes(freq)
  return {
    ...parts,
    months:
      takesDate && freq === 'YEARLY' && parts.months.length === 0
        ? [modulo(startMonth, 12) + 1]
        : parts.months,
    monthDays: takesDate ? [startDay - monthStart(startMonth) + 1] : parts.monthDays,
    weekdays: takesWeekday ? [{ nth: 0, weekday: weekdayOf(startDay) }] : parts.weekdays,
    hours:
      parts.hours.length > 0 || isShort(['HOURLY', 'MINUTELY', 'SECONDLY'])
        ? parts.hours
        : [Math.floor(second / 3600)],
    minutes:
      parts.minutes.length > 0 || isShort(['MINUTELY', 'SECONDLY'])
        ? parts.minutes
        : [Math.floor(second / 60) % 60],
    seconds: parts.seconds.length > 0 || freq === 'SECONDLY' ? parts.seconds : [second % 60],
  }
}

function orAll(values: readonly number[], count: number): Iterable<number> {
  return values.length > 0 ? values : Array.from({ length: count }, (_, value) => value)
}

/** A pattern from a local time on. */
class Since implements Pattern {
  readonly #pattern: Pattern
  readonly #start: number

  constructor(pattern: Pattern, start: number) {
    this.#pattern = pattern
    this.#start = start
  }

  firstFrom(local: number): number {
    return this.#pattern.firstFrom(local < this.#start ? this.#start : local)
  }
}

// A rule of hours, minutes or seconds that finds nothing in so many leaps meets its own filters too rarely.
const MOST_LEAPS = 20_000

interface ShortPeriodParts {
  readonly days: Days
  readonly hours: FieldSet
  readonly minutes: FieldSet
  readonly seconds: FieldSet
  readonly unit: number
  readonly parts: RruleParts
  readonly start: number
}

/**
 * Every so many hours, minutes or seconds on the wall. What is shorter than the unit is the same in every
 * period and listed once; what is longer is a filter that periods are leapt by.
 */
class ShortPeriods implements Pattern {
  readonly #days: Days
  readonly #allowed: TimesOfDay
  readonly #offsets: readonly number[]
  readonly #step: number
  readonly #base: number
  readonly #start: number

  constructor({ days, hours, minutes, seconds, unit, parts, start }: ShortPeriodParts) {
    const zero = new FieldSet([0])
    this.#days = days
    this.#allowed = new FieldTimes(hours, unit === 3600 ? zero : minutes, unit === 1 ? seconds : zero)
    const within = new FieldTimes(zero, unit === 3600 ? minutes : zero, unit === 1 ? zero : seconds)
    const offsets = Array.from({ length: within.count }, (_, place) => within.at(place))
    this.#offsets =
      parts.setPositions.length > 0
        ? pick(parts.setPositions, offsets.length).map((place) => offsets[place]!)
        : offsets
    this.#step = unit * parts.interval
    this.#base = start - modulo(start, unit)
    this.#start = isRunning(parts) ? -Infinity : start
  }

  firstFrom(local: number): number {
    if (this.#offsets.length === 0) return Infinity
    const from = Math.max(local, this.#start)
    let period = this.#base + Math.floor((from - this.#base) / this.#step) * this.#step
    if (this.#firstAllowed(period) === period) {
      const offset = this.#offsets.find((candidate) => period + candidate >= from)
      if (offset !== undefined) return period + offset
    }
    period += this.#step
    for (let leap = 0; leap < MOST_LEAPS && period < Infinity; leap++) {
      const allowed = this.#firstAllowed(period)
      if (allowed === period) return period + this.#offsets[0]!
      period = this.#base + Math.ceil((allowed - this.#base) / this.#step) * this.#step
    }
    return Infinity
  }

  /** The first moment at or after `local` that passes the filters, in step or not. */
  #firstAllowed(local: number): number {
    const day = Math.floor(local / DAY_S)
    const found = this.#days.firstFrom(day)
    if (found !== day) return found * DAY_S + this.#allowed.earliest
    const time = this.#allowed.firstFrom(local - day * DAY_S)
    if (time >= 0) return day * DAY_S + time
    return this.#days.firstFrom(day + 1) * DAY_S + this.#allowed.earliest
  }
}

// Once around the calendar, in periods of each length.
const mostPeriods: Partial<Record<Frequency, number>> = {
  YEARLY: 400,
  MONTHLY: 4800,
  WEEKLY: 20_871,
  DAILY: 20_871,
}

/** BYSETPOS: certain places, from either end, in the set of each year, month, week or day. */
class PickedPositions implements Pattern {
  readonly #days: Days
  readonly #times: TimesOfDay
  readonly #parts: RruleParts
  readonly #start: number
  readonly #startDay: number
  readonly #leastPosition: number

  constructor(days: Days, times: TimesOfDay, parts: RruleParts, start: number) {
    this.#days = days
    this.#times = times
    this.#parts = parts
    this.#start = start
    this.#startDay = Math.floor(start / DAY_S)
    this.#leastPosition = Math.min(...parts.setPositions.map(Math.abs))
  }

  firstFrom(local: number): number {
    const from = Math.max(local, this.#start)
    let period = this.#periodFrom(Math.floor(from / DAY_S))
    for (let looked = 0; looked < mostPeriods[this.#parts.freq]!; looked++) {
      const found = this.#firstIn(period, from)
      if (found !== undefined) return found
      const day = this.#days.firstFrom(this.#startOf(period + 1))
      if (day === Infinity) break
      period = this.#periodFrom(day)
    }
    return Infinity
  }

  #firstIn(period: number, from: number): number | undefined {
    const untilExclusive = this.#startOf(period + 1)
    const days: number[] = []
    let day = this.#days.firstFrom(this.#startOf(period))
    for (; day < untilExclusive; day = this.#days.firstFrom(day + 1)) days.push(day)
    const { count } = this.#times
    if (days.length * count < this.#leastPosition) return undefined
    return pick(this.#parts.setPositions, days.length * count)
      .map((place) => days[Math.floor(place / count)]! * DAY_S + this.#times.at(place % count))
      .find((candidate) => candidate >= from)
  }

  /** The first period in step that contains or follows a day. */
  #periodFrom(day: number): number {
    const period = this.#periodOf(day)
    const first = this.#periodOf(this.#startDay)
    return first + Math.ceil((period - first) / this.#parts.interval) * this.#parts.interval
  }

  #periodOf(day: number): number {
    const { freq, weekStart } = this.#parts
    if (freq === 'YEARLY') return Math.floor(monthOf(day) / 12)
    if (freq === 'MONTHLY') return monthOf(day)
    return freq === 'WEEKLY' ? Math.floor((day + 4 - weekStart) / 7) : day
  }

  #startOf(period: number): number {
    const { freq, weekStart } = this.#parts
    if (freq === 'YEARLY') return monthStart(monthIndex(period, 1))
    if (freq === 'MONTHLY') return monthStart(period)
    return freq === 'WEEKLY' ? period * 7 - 4 + weekStart : period
  }
}

/** The places, from 0 and ascending, that positions such as 1 or -1 mean in a set of `count`. */
function pick(positions: readonly number[], count: number): number[] {
  const places = positions.map((position) => (position > 0 ? position - 1 : count + position))
  return [...new Set(places)].filter((place) => place >= 0 && place < count).sort((a, b) => a - b)
}
