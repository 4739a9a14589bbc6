import { checkOptions, InvalidInputError, shown } from '../../error/index.js'
import { calendarOptionNames, type CalendarOptions, calendarSchedule } from './calendar-schedule.js'
import { DateRule, longestLength } from '../calendar/date-rule.js'
import { MonthDays } from '../calendar/month-days.js'
import { type InvalidDateOption, missingWords, readDay, readInvalidDate } from './monthly.js'
import type { Schedule } from '../schedule.js'
import { monthWords } from '../words.js'

/** The options of `yearly`. */
export interface YearlyOptions extends CalendarOptions, InvalidDateOption {
  /** 1 to 12. */
  readonly month: number
  /** The day of the month, or `'last'`. February 29 follows `invalidDate` in common years. */
  readonly day: number | 'last'
}

/**
 * On the same date every year: `yearly({ month: 2, day: 29, at: '09:00', zone: 'America/New_York' })`.
 *
 * @example
 * ```ts
 * yearly({ month: 2, day: 29, at: '09:00', zone: 'Asia/Tokyo' })
 * ```
 */
export function yearly(options: YearlyOptions): Schedule {
  checkOptions('yearly', options, ['month', 'day', 'invalidDate', ...calendarOptionNames])
  const { month } = options
  if (!(Number.isInteger(month) && month >= 1 && month <= 12)) {
    throw new InvalidInputError('invalid-option', `month must be 1 to 12, got ${shown(month)}`)
  }
  const day = readDay(options.day, longestLength(month))
  const invalidDate = readInvalidDate(options)
  const rule = new DateRule([day], month, invalidDate)
  const name = monthWords[month - 1]!
  const date = day === 'last' ? `the last day of ${name}` : `${name} ${day}`
  return calendarSchedule(
    {
      days: new MonthDays(rule),
      words: `every year on ${date}${month === 2 && day === 29 ? missingWords[invalidDate] : ''}`,
      json: (at, wall) => ({ type: 'yearly', month, day, at, invalidDate, ...wall }),
      dateReasons: (afterDay, lastDay) => rule.reasons(afterDay, lastDay),
    },
    options,
  )
}
