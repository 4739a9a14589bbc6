import { checkOptions, InvalidInputError, shown } from '../../error/index.js'
import { calendarOptionNames, type CalendarOptions, calendarSchedule } from './calendar-schedule.js'
import { checkChoice } from '../option-checks.js'
import { DateRule } from '../calendar/date-rule.js'
import { defaults } from '../defaults.js'
import { MonthDays } from '../calendar/month-days.js'
import type { Schedule } from '../schedule.js'
import type { InvalidDate } from '../schedule-json.js'
import { oneOrMore } from './times-option.js'
import { listed } from '../words.js'

export interface InvalidDateOption {
  /**
   * What to do if the month does not have the date: take its last day (`'backward'`, the default), the first
   * day of the next month (`'forward'`), or nothing (`'skip'`).
   */
  readonly invalidDate?: InvalidDate
}

/** The options of `monthly`. */
export interface MonthlyOptions extends CalendarOptions, InvalidDateOption {
  /** A day of the month from 1 to 31, `'last'`, or an array of these. */
  readonly day: number | 'last' | readonly (number | 'last')[]
}

/**
 * On the same days every month: `monthly({ day: 31, at: '18:00', invalidDate: 'backward' })`.
 *
 * @example
 * ```ts
 * monthly({ day: 31, at: '09:00', zone: 'America/New_York', invalidDate: 'backward' })
 * ```
 */
export function monthly(options: MonthlyOptions): Schedule {
  checkOptions('monthly', options, ['day', 'invalidDate', ...calendarOptionNames])
  const days = [...new Set(oneOrMore('day', options.day, 32).map((day) => readDay(day, 31)))].sort(
    (a, b) => placeOf(a) - placeOf(b),
  )
  const invalidDate = readInvalidDate(options)
  const rule = new DateRule(days, undefined, invalidDate)
  const named = days.map((day) => (day === 'last' ? 'the last day' : `day ${day}`))
  const mayBeMissing = days.some((day) => day !== 'last' && day > 28)
  return calendarSchedule(
    {
      days: new MonthDays(rule),
      words: `every month on ${listed(named)}${mayBeMissing ? missingWords[invalidDate] : ''}`,
      json: (at, wall) => ({ type: 'monthly', day: days, at, invalidDate, ...wall }),
      dateReasons: (afterDay, day) => rule.reasons(afterDay, day),
    },
    options,
  )
}

export function readInvalidDate({ invalidDate = defaults.invalidDate }: InvalidDateOption): InvalidDate {
  return checkChoice('invalidDate', invalidDate, ['backward', 'forward', 'skip'])
}

export function readDay(day: unknown, most: number): number | 'last' {
  if (day === 'last') return day
  if (typeof day === 'number' && Number.isInteger(day) && day >= 1 && day <= most) return day
  throw new InvalidInputError('invalid-option', `day must be 1 to ${most} or 'last', got ${shown(day)}`)
}

/** A remark in brackets on what happens if the date is missing. */
export const missingWords: Readonly<Record<InvalidDate, string>> = Object.freeze({
  backward: ' (where missing, on the last day of the month)',
  forward: ' (where missing, on the first day of the next month)',
  skip: ' (only where it exists)',
})

function placeOf(day: number | 'last'): number {
  return day === 'last' ? 32 : day
}
