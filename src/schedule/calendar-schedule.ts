import type { Days } from './month-days.js'
import { DayTimes } from './pattern.js'
import { Schedule } from './schedule.js'
import type { RuleJson, WallJson } from './schedule-json.js'
import { readTerms, termNames, type TermOptions } from './terms.js'
import { type AtOption, type ReadTimes, readTimes } from './times-option.js'
import { readWall, wallJson, wallNames, type WallOptions, WallRule } from './wall-rule.js'

/** What `daily`, `weekly`, `monthly` and `yearly` have in common. */
export interface CalendarOptions extends AtOption, WallOptions, TermOptions {}

export const calendarNames = ['at', ...wallNames, ...termNames] as const

export interface CalendarDays {
  readonly days: Days
  /** `'every day'`: what the days are called. */
  readonly words: string
  readonly json: (at: ReadTimes['json'], wall: WallJson) => RuleJson
  readonly dateReasons?: (afterDay: number, day: number) => string[]
}

/** The schedule of certain days at the times of `at`. */
export function calendarSchedule(calendar: CalendarDays, options: CalendarOptions): Schedule {
  const wall = readWall(options)
  const at = readTimes(options.at)
  const rule = new WallRule({
    pattern: new DayTimes(calendar.days, at.times),
    wall,
    json: calendar.json(at.json, wallJson(wall)),
    words: `${calendar.words} ${at.words}`,
    ...(calendar.dateReasons && { dateReasons: calendar.dateReasons }),
  })
  return new Schedule(rule, readTerms(options, wall.zone, rule.from))
}
