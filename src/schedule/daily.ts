import { checkOptions } from '../error/index.js'
import { calendarNames, type CalendarOptions, calendarSchedule } from './calendar-schedule.js'
import { everyDay } from './month-days.js'
import type { Schedule } from './schedule.js'

/** Every day at the same local time, or several: `daily({ at: '09:00', zone: 'Europe/Paris' })`. */
export function daily(options: CalendarOptions = {}): Schedule {
  checkOptions('daily', options, calendarNames)
  return calendarSchedule(
    { days: everyDay, words: 'every day', json: (at, wall) => ({ type: 'daily', at, ...wall }) },
    options,
  )
}
