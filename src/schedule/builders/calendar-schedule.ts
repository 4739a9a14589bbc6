import type { Days } from '../calendar/month-days.js'
import { DayTimes } from '../calendar/pattern.js'
import { Schedule } from '../schedule.js'
import type { RuleJson, WallJson } from '../schedule-json.js'
import { readTerms, termOptionNames, type TermOptions } from '../terms.js'
import { type AtOption, type ReadTimes, readTimes } from './times-option.js'
import { readWallOptions, wallJson, wallOptionNames, type WallOptions, WallRule } from '../wall-rule.js'

/** The options that `daily`, `weekly`, `monthly` and `yearly` share. */
export interface CalendarOptions extends AtOption, WallOptions, TermOptions {}

export const calendarOptionNames = ['at', ...wallOptionNames, ...termOptionNames] as const

export interface CalendarDays {
  readonly days: Days
  /** The days in words, such as `'every day'`. */
  readonly words: string
  readonly json: (at: ReadTimes['json'], wall: WallJson) => RuleJson
  readonly dateReasons?: (afterDay: number, day: number) => string[]
}

/** Makes a schedule of certain days at the times of `at`. */
export function calendarSchedule(calendar: CalendarDays, options: CalendarOptions): Schedule {
  const wall = readWallOptions(options)
  const at = readTimes(options.at)
  const rule = new WallRule({
    pattern: new DayTimes(calendar.days, at.times),
    wall,
    json: calendar.json(at.json, wallJson(wall)),
    words: `${calendar.words} ${at.words}`,
    ...(calendar.dateReasons && { dateReasons: calendar.dateReasons }),
  })
  return new Schedule(rule, readTerms(options, wall.zone, rule.startsAt))
}
