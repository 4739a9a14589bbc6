import { DAY_S, modulo, monthOf, monthStart, weekdayOf } from './calendar.js'
import { FieldSet } from './field-set.js'
import { type Days, everyDay, MonthDays } from './month-days.js'
import { DayTimes, type Grid, type Pattern } from './pattern.js'
import { PickedPositions, pickPlaces } from './picked-positions.js'
import { RruleDays } from './rrule-days.js'
import type { Frequency, RruleParts } from './rrule-text.js'
import { ShortPeriods } from './short-periods.js'
import { SteppedDays } from './stepped-days.js'
import { FieldTimes } from './time-of-day.js'
import { WeekDays } from './week-days.js'

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
  const times = new FieldTimes(
    new FieldSet(orAll(full.hours, 24)),
    new FieldSet(orAll(full.minutes, 60)),
    new FieldSet(orAll(full.seconds, 60)),
  )
  const unit = unitSeconds[parts.freq]
  const isEvery = parts.interval === 1 && parts.setPositions.length === 0
  if (unit !== undefined && isEvery && times.count < DAY_S / unit) {
    // Every one of them: nothing is in step but the times of day themselves.
    const named = new DayTimes(rruleDays(full, startDay, 1), times)
    return isRunning(parts) ? named : new Since(named, start)
  }
  if (unit !== undefined) return shortPeriods(full, unit, start, times)
  if (parts.setPositions.length > 0) {
    return new PickedPositions(rruleDays(full, startDay, 1), times, full, start)
  }
  return new Since(new DayTimes(rruleDays(full, startDay, parts.interval), times), start)
}

function shortPeriods(parts: RruleParts, unit: number, start: number, times: FieldTimes): Pattern {
  const { hours, minutes, seconds } = times
  const zero = new FieldSet([0])
  const days = rruleDays(parts, Math.floor(start / DAY_S), 1)
  const beginnings = new FieldTimes(hours, unit === 3600 ? zero : minutes, unit === 1 ? seconds : zero)
  const within = new FieldTimes(zero, unit === 3600 ? minutes : zero, unit === 1 ? zero : seconds)
  const places =
    parts.setPositions.length > 0
      ? pickPlaces(parts.setPositions, within.count)
      : Array.from({ length: within.count }, (_, place) => place)
  return new ShortPeriods({
    days,
    beginnings,
    times,
    offsets: places.map((place) => within.at(place)),
    base: start - modulo(start, unit),
    unit,
    step: unit * parts.interval,
    start: isRunning(parts) ? -Infinity : start,
  })
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

function rruleDays(parts: RruleParts, startDay: number, interval: number): Days {
  const { months, monthDays, yearDays, weekNumbers, weekdays } = parts
  const isWeekly = months.length + monthDays.length + yearDays.length + weekNumbers.length === 0
  const { freq } = parts
  const isStepped = interval > 1 && (freq === 'WEEKLY' || (freq === 'DAILY' && weekdays.length === 0))
  if (!isWeekly || weekdays.some(({ nth }) => nth !== 0) || (interval > 1 && !isStepped)) {
    return new MonthDays(new RruleDays(parts, startDay, interval))
  }
  if (isStepped && freq === 'DAILY') return SteppedDays.everyDays(startDay, interval)
  if (isStepped) {
    const named = weekdays.map(({ weekday }) => weekday)
    return SteppedDays.everyWeeks(startDay, interval, named, parts.weekStart)
  }
  return weekdays.length === 0 ? everyDay : new WeekDays(weekdays.map(({ weekday }) => weekday))
}

function orAll(values: readonly number[], count: number): Iterable<number> {
  return values.length > 0 ? values : Array.from({ length: count }, (_, value) => value)
}

/** A pattern from a local time on. */
class Since implements Pattern {
  readonly daysApart: boolean
  readonly yearPeriod: number
  readonly grid: Grid | undefined
  readonly #pattern: Pattern
  readonly #start: number

  constructor(pattern: Pattern, start: number) {
    this.daysApart = pattern.daysApart
    this.yearPeriod = pattern.yearPeriod
    this.grid = pattern.grid
    this.#pattern = pattern
    this.#start = start
  }

  firstFrom(local: number): number {
    return this.#pattern.firstFrom(local < this.#start ? this.#start : local)
  }

  mayBeIn(from: number, untilExclusive: number): boolean {
    return this.#pattern.mayBeIn(from, untilExclusive)
  }

  mayBeInKind(from: number, untilExclusive: number): boolean {
    return this.#pattern.mayBeInKind(from, untilExclusive)
  }

  mayBeAt(from: number, untilExclusive: number): boolean {
    return this.#pattern.mayBeAt(from, untilExclusive)
  }

  count(from: number, untilExclusive: number, most: number): number {
    return this.#pattern.count(Math.max(from, this.#start), untilExclusive, most)
  }
}
