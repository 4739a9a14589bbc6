import { DAY_S, modulo, monthOf, monthStart, weekdayOf } from '../calendar/calendar.js'
import { FieldSet } from '../calendar/field-set.js'
import { type Days, everyDay, MonthDays } from '../calendar/month-days.js'
import { DayTimes, type Grid, type Pattern } from '../calendar/pattern.js'
import { PickedPositions, pickIndexes } from './picked-positions.js'
import { RruleDays } from './rrule-days.js'
import type { Frequency, RruleParts } from './rrule-text.js'
import { ShortPeriods } from './short-periods.js'
import { SteppedDays } from '../calendar/stepped-days.js'
import { FieldTimes } from '../calendar/time-of-day.js'
import { WeekDays } from '../calendar/week-days.js'

/**
 * Whether a rule counts hours, minutes or seconds and has no BYHOUR. Such a rule follows elapsed time. When
 * clocks go back right after its start, local times before the start come again, and they count.
 */
export function followsElapsedTime(parts: RruleParts): boolean {
  return unitSeconds[parts.freq] !== undefined && parts.hours.length === 0
}

/**
 * Returns the local times of a recurrence rule from a local start on. A rule that follows elapsed time also
 * matches before it.
 */
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
    // An interval of 1: every period is in step, so the times of day alone decide.
    const matching = new DayTimes(rruleDays(full, startDay, 1), times)
    return followsElapsedTime(parts) ? matching : new StartingPattern(matching, start)
  }
  if (unit !== undefined) return shortPeriods(full, unit, start, times)
  if (parts.setPositions.length > 0) {
    return new PickedPositions(rruleDays(full, startDay, 1), times, full, start)
  }
  return new StartingPattern(new DayTimes(rruleDays(full, startDay, parts.interval), times), start)
}

function shortPeriods(parts: RruleParts, unit: number, start: number, times: FieldTimes): Pattern {
  const { hours, minutes, seconds } = times
  const zero = new FieldSet([0])
  const days = rruleDays(parts, Math.floor(start / DAY_S), 1)
  const starts = new FieldTimes(hours, unit === 3600 ? zero : minutes, unit === 1 ? seconds : zero)
  const within = new FieldTimes(zero, unit === 3600 ? minutes : zero, unit === 1 ? zero : seconds)
  const indexes =
    parts.setPositions.length > 0
      ? pickIndexes(parts.setPositions, within.count)
      : Array.from({ length: within.count }, (_, index) => index)
  return new ShortPeriods({
    days,
    starts,
    times,
    offsets: indexes.map((index) => within.at(index)),
    base: start - modulo(start, unit),
    unit,
    step: unit * parts.interval,
    start: followsElapsedTime(parts) ? -Infinity : start,
  })
}

const unitSeconds: Partial<Record<Frequency, number>> = { HOURLY: 3600, MINUTELY: 60, SECONDLY: 1 }

/** Fills in from the start whatever the rule leaves open, as RFC 5545 requires. */
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
    const matching = weekdays.map(({ weekday }) => weekday)
    return SteppedDays.everyWeeks(startDay, interval, matching, parts.weekStart)
  }
  return weekdays.length === 0 ? everyDay : new WeekDays(weekdays.map(({ weekday }) => weekday))
}

function orAll(values: readonly number[], count: number): Iterable<number> {
  return values.length > 0 ? values : Array.from({ length: count }, (_, value) => value)
}

/** A pattern without its matches before a local time. */
class StartingPattern implements Pattern {
  readonly isAtLeastADayApart: boolean
  readonly yearPeriod: number
  readonly grid: Grid | undefined
  readonly #pattern: Pattern
  readonly #start: number

  constructor(pattern: Pattern, start: number) {
    this.isAtLeastADayApart = pattern.isAtLeastADayApart
    this.yearPeriod = pattern.yearPeriod
    this.grid = pattern.grid
    this.#pattern = pattern
    this.#start = start
  }

  firstFrom(local: number): number {
    return this.#pattern.firstFrom(local < this.#start ? this.#start : local)
  }

  mayMatchBetween(from: number, untilExclusive: number): boolean {
    return this.#pattern.mayMatchBetween(from, untilExclusive)
  }

  mayMatchInYearKind(from: number, untilExclusive: number): boolean {
    return this.#pattern.mayMatchInYearKind(from, untilExclusive)
  }

  mayMatchTimesOfDay(from: number, untilExclusive: number): boolean {
    return this.#pattern.mayMatchTimesOfDay(from, untilExclusive)
  }

  count(from: number, untilExclusive: number, most: number): number {
    return this.#pattern.count(Math.max(from, this.#start), untilExclusive, most)
  }
}
