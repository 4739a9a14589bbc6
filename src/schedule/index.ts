/** Schedules: when something occurs, in every time zone. Pure: nothing here waits, stores or fires. */
export { cron, type CronOptions } from './cron.js'
export { daily } from './daily.js'
export { every, type EveryOptions } from './every.js'
export { monthly, type MonthlyOptions } from './monthly.js'
export type { Occurrence, PreviewOptions, Schedule, SeedOptions } from './schedule.js'
export { weekly, type Weekday, type WeeklyOptions } from './weekly.js'
export { yearly, type YearlyOptions } from './yearly.js'
export { tzdataVersion } from './zone.js'
