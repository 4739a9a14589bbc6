/**
 * Schedules compute when something occurs, in every time zone. They are pure: nothing here waits, stores or
 * fires.
 */
export type { CalendarOptions } from './builders/calendar-schedule.js'
export { catchUp, type CatchUp, type CatchUpOptions } from './catch-up.js'
export { cron, type CronOptions } from './cron/cron.js'
export { daily } from './builders/daily.js'
export { diff, type FiringDiff, type MovedFiring } from './diff.js'
export { every, type EveryOptions } from './builders/every.js'
export { monthly, type MonthlyOptions } from './builders/monthly.js'
export { parseSchedule } from './parse-schedule.js'
export { rrule, type RruleOptions } from './rrule/rrule.js'
export type { InvalidDate, ScheduleJson } from './schedule-json.js'
export type { Occurrence, PreviewOptions, Schedule, SeedOptions } from './schedule.js'
export { simulate, type SimulatedFiring, type SimulateOptions } from './simulate.js'
export type { Missed } from './terms.js'
export type { Gap, Overlap } from './zone/wall-clock.js'
export { weekly, type Weekday, type WeeklyOptions } from './builders/weekly.js'
export { yearly, type YearlyOptions } from './builders/yearly.js'
export { tzdataVersion } from './zone/zone.js'
