import type { TermsJson } from './terms.js'
import type { Gap, Overlap } from './wall-clock.js'

/** What becomes of a date that a month does not have: its last day, the first of the next month, or nothing. */
export type InvalidDate = 'backward' | 'forward' | 'skip'

/** Where and how local times are read. */
export interface WallJson {
  readonly zone: string
  readonly gap: Gap
  readonly overlap: Overlap
}

interface CronJson extends WallJson {
  readonly type: 'cron'
  readonly expression: string
}

export interface EveryJson {
  readonly type: 'every'
  readonly everyMs: number
  readonly anchor: number
}

interface DailyJson extends WallJson {
  readonly type: 'daily'
  readonly at: readonly string[]
}

interface WeeklyJson extends WallJson {
  readonly type: 'weekly'
  readonly on: readonly string[]
  readonly at: readonly string[]
}

interface MonthlyJson extends WallJson {
  readonly type: 'monthly'
  readonly day: readonly (number | 'last')[]
  readonly at: readonly string[]
  readonly invalidDate: InvalidDate
}

interface YearlyJson extends WallJson {
  readonly type: 'yearly'
  readonly month: number
  readonly day: number | 'last'
  readonly at: readonly string[]
  readonly invalidDate: InvalidDate
}

interface RruleJson extends WallJson {
  readonly type: 'rrule'
  readonly rule: string
  readonly start: string
  /** What is left out and added: local dates, local times and instants of UTC, in this order. */
  readonly except?: readonly string[]
  readonly also?: readonly string[]
}

export type RuleJson = CronJson | EveryJson | DailyJson | WeeklyJson | MonthlyJson | YearlyJson | RruleJson

/**
 * The stored form of a schedule, which the API, the store and the page share. Policies are always written out,
 * so that a default that changes one day does not change what was stored before.
 */
export type ScheduleJson = { readonly version: 1 } & RuleJson & TermsJson
