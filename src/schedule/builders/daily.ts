import { checkOptions } from '../../error/index.js'
import { calendarOptionNames, type CalendarOptions, calendarSchedule } from './calendar-schedule.js'
import { everyDay } from '../calendar/month-days.js'
import type { Schedule } from '../schedule.js'

/**
 * Every day at one or several local times: `daily({ at: '09:00', zone: 'Europe/Paris' })`.
 *
 * @example
 * ```ts
 * daily({ at: ['09:00', '17:30'], zone: 'Europe/Berlin' })
 * ```
 */
export function daily(options: CalendarOptions = {}): Schedule {
  checkOptions('daily', options, calendarOptionNames)
  return calendarSchedule(
    { days: everyDay, words: 'every day', json: (at, wall) => ({ type: 'daily', at, ...wall }) },
    options,
  )
}
