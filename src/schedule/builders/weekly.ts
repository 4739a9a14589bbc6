import { checkOptions, InvalidInputError, shown } from '../../error/index.js'
import { modulo } from '../calendar/calendar.js'
import { calendarOptionNames, type CalendarOptions, calendarSchedule } from './calendar-schedule.js'
import type { Schedule } from '../schedule.js'
import { oneOrMore } from './times-option.js'
import { WeekDays } from '../calendar/week-days.js'
import { listed, weekdayWords } from '../words.js'

/** A day of the week in English. */
export type Weekday = 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday'

/** The options of `weekly`. */
export interface WeeklyOptions extends CalendarOptions {
  /** A weekday, or an array of weekdays. */
  readonly on: Weekday | readonly Weekday[]
}

/**
 * On the same weekdays every week: `weekly({ on: ['monday', 'friday'], at: '09:00' })`.
 *
 * @example
 * ```ts
 * weekly({ on: ['monday', 'thursday'], at: '09:00', zone: 'Europe/Berlin' })
 * ```
 */
export function weekly(options: WeeklyOptions): Schedule {
  checkOptions('weekly', options, ['on', ...calendarOptionNames])
  const weekdays = new Set(oneOrMore('on', options.on, 7).map(readWeekday))
  // Monday comes first, as people list weekdays.
  const ordered = [...weekdays].sort((a, b) => modulo(a - 1, 7) - modulo(b - 1, 7))
  const names = ordered.map((weekday) => weekdayWords[weekday]!)
  return calendarSchedule(
    {
      days: new WeekDays(ordered),
      words: `every ${listed(names)}`,
      json: (at, wall) => ({ type: 'weekly', on: names.map((name) => name.toLowerCase()), at, ...wall }),
    },
    options,
  )
}

function readWeekday(name: unknown): number {
  const weekday = weekdayWords.findIndex((word) => word.toLowerCase() === name)
  if (weekday >= 0) return weekday
  throw new InvalidInputError(
    'invalid-option',
    `on takes weekdays such as 'monday' or ['monday', 'friday'], got ${shown(name)}`,
  )
}
