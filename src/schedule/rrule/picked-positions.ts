import { DAY_S, monthIndex, monthOf, monthStart } from '../calendar/calendar.js'
import { type CountDays, YearKindCount } from '../count/year-kind-count.js'
import type { Days } from '../calendar/month-days.js'
import { type Grid, mayMatchDaysInYearKind, type Pattern } from '../calendar/pattern.js'
import { yearPeriod } from './rrule-days.js'
import type { Frequency, RruleParts } from './rrule-text.js'
import { type AddMatch, StepCount, type Steps } from '../count/step-count.js'
import { hasTimeBetween, type TimesOfDay } from '../calendar/time-of-day.js'

// How many periods of each length it takes to go once around the calendar.
const mostPeriods: Partial<Record<Frequency, number>> = {
  YEARLY: 400,
  MONTHLY: 4800,
  WEEKLY: 20_871,
  DAILY: 20_871,
}

function mostDays({ freq, weekdays }: RruleParts): number {
  if (freq === 'YEARLY') return 366
  if (freq === 'MONTHLY') return 31
  return freq === 'WEEKLY' ? weekdays.length || 7 : 1
}

/**
 * BYSETPOS: picks certain positions, counted from either end, from the occurrences of each year, month, week
 * or day.
 *
 * Proven by test/schedule/rrule.test.ts and test/schedule/countdown.test.ts.
 */
export class PickedPositions implements Pattern {
  readonly isAtLeastADayApart: boolean
  readonly yearPeriod: number
  readonly grid: Grid | undefined
  readonly #days: Days
  readonly #times: TimesOfDay
  readonly #parts: RruleParts
  readonly #start: number
  readonly #startDay: number
  readonly #firstPeriod: number
  readonly #longCount: YearKindCount | StepCount
  readonly #pickCounts: (number | undefined)[] = []
  readonly #leastPosition: number
  readonly #largestSet: number
  #pickedPeriod = Number.NaN
  #picks: readonly number[] = []

  constructor(days: Days, times: TimesOfDay, parts: RruleParts, start: number) {
    this.isAtLeastADayApart = times.count === 1
    this.yearPeriod = yearPeriod(parts.freq, parts.interval)
    this.#days = days
    this.#times = times
    this.#parts = parts
    this.#start = start
    this.#startDay = Math.floor(start / DAY_S)
    this.#firstPeriod = this.#periodOf(this.#startDay)
    if (parts.freq === 'WEEKLY' || parts.freq === 'DAILY') {
      const length = (parts.freq === 'WEEKLY' ? 7 : 1) * DAY_S
      const base = this.#startOf(this.#firstPeriod) * DAY_S
      this.grid = { base, step: length * parts.interval, span: length - 1 }
    }
    this.#largestSet = mostDays(parts) * times.count
    const countIn: CountDays = (from, until, most) => this.#countDays(from, until, most)
    this.#longCount =
      parts.interval === 1
        ? new YearKindCount(countIn, 1)
        : new StepCount(this.#steps(), countIn, (day) => this.#startOf(this.#periodOf(day - 1) + 1))
    this.#leastPosition = Math.min(...parts.setPositions.map(Math.abs))
  }

  firstFrom(local: number): number {
    if (this.#leastPosition > this.#largestSet) return Infinity
    const from = Math.max(local, this.#start)
    let period = this.#periodFrom(Math.floor(from / DAY_S))
    for (let looked = 0; looked < mostPeriods[this.#parts.freq]!; looked++) {
      const found = this.#picksOf(period).find((candidate) => candidate >= from)
      if (found !== undefined) return found
      const day = this.#days.firstFrom(this.#startOf(period + 1))
      if (day === Infinity) break
      period = this.#periodFrom(day)
    }
    return Infinity
  }

  mayMatchBetween(from: number, untilExclusive: number): boolean {
    const day = Math.floor(from / DAY_S)
    const lastDay = Math.floor((untilExclusive - 1) / DAY_S)
    return this.#mayBeOn(day) || (lastDay > day && this.#mayBeOn(lastDay))
  }

  mayMatchInYearKind(from: number, untilExclusive: number): boolean {
    return mayMatchDaysInYearKind(this.#days, from, untilExclusive)
  }

  mayMatchTimesOfDay(from: number, untilExclusive: number): boolean {
    return hasTimeBetween(this.#times, from, untilExclusive)
  }

  count(from: number, untilExclusive: number, most: number): number {
    const since = Math.max(from, this.#start)
    if (!(since < untilExclusive)) return 0
    const first = Math.ceil(since / DAY_S)
    const last = Math.floor(untilExclusive / DAY_S)
    if (last < first) return this.#countOn(last, since, untilExclusive)
    return (
      this.#countOn(first - 1, since, first * DAY_S) +
      (this.#isEveryWeek() ? this.#countDays(first, last, most) : this.#longCount.count(first, last, most)) +
      this.#countOn(last, last * DAY_S, untilExclusive)
    )
  }

  #mayBeOn(day: number): boolean {
    return this.#isInStep(this.#periodOf(day)) && this.#days.includes(day)
  }

  #isInStep(period: number): boolean {
    const { interval } = this.#parts
    return interval === 1 || (period - this.#firstPeriod) % interval === 0
  }

  /** Counts the picks on a day from one local time up to another. */
  #countOn(day: number, from: number, untilExclusive: number): number {
    const period = this.#periodOf(day)
    if (!this.#isInStep(period) || !this.#days.includes(day)) return 0
    return this.#picksOf(period).filter((pick) => pick >= from && pick < untilExclusive).length
  }

  #steps(): Steps {
    const { freq, interval, weekNumbers } = this.#parts
    const period = this.#periodOf(this.#startDay)
    const isLong = freq === 'YEARLY' || freq === 'MONTHLY'
    return {
      unit: freq === 'YEARLY' ? 'year' : freq === 'MONTHLY' ? 'month' : 'day',
      start: isLong ? period : this.#startOf(period),
      step: freq === 'WEEKLY' ? 7 * interval : interval,
      offsets: [0],
      dependsOnNeighbours: weekNumbers.length > 0,
      eachMatch: (firstDay, length, add) => this.#eachIn(firstDay, firstDay + length, add),
    }
  }

  /** Reports how many occurrences are picked from each period that begins in a year, in step or not. */
  #eachIn(firstDay: number, untilExclusive: number, add: AddMatch): void {
    if (this.#parts.freq === 'DAILY') {
      const picks = this.#countPicks(this.#times.count)
      let day = this.#days.firstFrom(firstDay)
      for (; day < untilExclusive; day = this.#days.firstFrom(day + 1)) add(day - firstDay, picks)
      return
    }
    const isLong = this.#parts.freq === 'YEARLY' || this.#parts.freq === 'MONTHLY'
    const origin = isLong ? this.#periodOf(firstDay) : firstDay
    let day = this.#days.firstFrom(this.#startOf(this.#periodOf(firstDay - 1) + 1))
    while (day !== Infinity) {
      const period = this.#periodOf(day)
      const start = this.#startOf(period)
      if (start >= untilExclusive) break
      const end = this.#startOf(period + 1)
      add(
        (isLong ? period : start) - origin,
        this.#countPicks(this.#days.count(day, end, Infinity) * this.#times.count),
      )
      day = this.#days.firstFrom(end)
    }
  }

  #countDays(from: number, untilExclusive: number, most: number): number {
    const inWeek = this.#isEveryWeek() && this.#days.count(0, 7, 7)
    let count = 0
    let period = this.#periodFrom(from)
    while (count <= most) {
      const start = this.#startOf(period)
      const end = this.#startOf(period + 1)
      if (!(start < untilExclusive)) break
      if (start < from || end > untilExclusive) {
        count += this.#picksOf(period).filter(
          (pick) => pick >= from * DAY_S && pick < untilExclusive * DAY_S,
        ).length
      } else if (inWeek === false) {
        count += this.#countPicks(this.#days.count(start, end, Infinity) * this.#times.count)
      } else {
        const { interval } = this.#parts
        const weeks = Math.floor((untilExclusive - end) / (7 * interval)) + 1
        count += weeks * this.#countPicks(inWeek * this.#times.count)
        period += (weeks - 1) * interval
      }
      const next = this.#startOf(period + 1)
      period = this.#periodFrom(inWeek === false ? this.#days.firstFrom(next) : next)
    }
    return count
  }

  /** Without BYMONTH, all weeks are alike. */
  #isEveryWeek(): boolean {
    return this.#parts.freq === 'WEEKLY' && this.#parts.months.length === 0
  }

  /** Counts the picks from a set of this size. */
  #countPicks(size: number): number {
    return (this.#pickCounts[size] ??= pickIndexes(this.#parts.setPositions, size).length)
  }

  /**
   * Returns the picks of a period, in order. The latest result is cached, because the next call is mostly for
   * the same period.
   */
  #picksOf(period: number): readonly number[] {
    if (period === this.#pickedPeriod) return this.#picks
    const untilExclusive = this.#startOf(period + 1)
    const days: number[] = []
    let day = this.#days.firstFrom(this.#startOf(period))
    for (; day < untilExclusive; day = this.#days.firstFrom(day + 1)) days.push(day)
    const { count } = this.#times
    this.#pickedPeriod = period
    this.#picks =
      days.length * count < this.#leastPosition
        ? []
        : pickIndexes(this.#parts.setPositions, days.length * count).map(
            (index) => days[Math.floor(index / count)]! * DAY_S + this.#times.at(index % count),
          )
    return this.#picks
  }

  /** Returns the first period that is in step and contains the day or follows it. */
  #periodFrom(day: number): number {
    const period = this.#periodOf(day)
    const first = this.#firstPeriod
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

/** Translates positions such as 1 or -1 into indexes of a set of `count`, ascending. */
export function pickIndexes(positions: readonly number[], count: number): number[] {
  const indexes = positions.map((position) => (position > 0 ? position - 1 : count + position))
  return [...new Set(indexes)].filter((index) => index >= 0 && index < count).sort((a, b) => a - b)
}
