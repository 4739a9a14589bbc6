import type { Schedule } from 'carillon/schedule'

/** What is special about the schedule, the schedule, and the argument of `next`. */
export type HostileCase = readonly [string, Schedule, string]
