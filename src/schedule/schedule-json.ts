import type { TermsJson } from './terms.js'
import type { Gap, Overlap } from './zone/wall-clock.js'

/**
 * What to do with a date that a month does not have: take its last day, the first day of the next month, or
 * nothing.
 */
export type InvalidDate = 'backward' | 'forward' | 'skip'

/** The zone of local times, and the rules for gaps and overlaps. */
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
  /** Exceptions and additions: local dates, local times and UTC instants, in this order. */
  readonly except?: readonly string[]
  readonly also?: readonly string[]
}

export type RuleJson = CronJson | EveryJson | DailyJson | WeeklyJson | MonthlyJson | YearlyJson | RruleJson

/**
 * The stored form of a schedule, shared by the API, the store and the dashboard. Policies are always written
 * out, so a later change of a default does not change stored schedules.
 */
export type ScheduleJson = { readonly version: 1 } & RuleJson & TermsJson
