import { checkOptions, InvalidInputError, shown } from '../../error/index.js'
import { CronDays } from './cron-days.js'
import { readCron } from './cron-expression.js'
import { cronWords } from './cron-words.js'
import { FieldSet } from '../calendar/field-set.js'
import { everyDay, MonthDays } from '../calendar/month-days.js'
import { DayTimes } from '../calendar/pattern.js'
import { Schedule } from '../schedule.js'
import { readTerms, termOptionNames, type TermOptions } from '../terms.js'
import { FieldTimes } from '../calendar/time-of-day.js'
import { readWallOptions, wallJson, wallOptionNames, type WallOptions, WallRule } from '../wall-rule.js'

/** The options of `cron`. */
export interface CronOptions extends WallOptions, TermOptions {}

/**
 * Makes a schedule from a cron expression: five fields (minute hour day month weekday), six with seconds in
 * front, or a nickname such as `@daily`. Fields take names, ranges, steps, `L`, `W` and `#`.
 *
 * If both date fields are restricted, a day needs to match only one of them. If the hour field is a wildcard,
 * range or step, the schedule follows elapsed time: every matching instant counts once. Otherwise the gap and
 * overlap rules apply.
 *
 * Throws if the expression is malformed or never matches.
 *
 * @example
 * ```ts
 * cron('30 9 * * 1-5', { zone: 'Europe/Berlin' })
 * ```
 */
export function cron(expression: string, options: CronOptions = {}): Schedule {
  checkOptions('cron', options, [...wallOptionNames, ...termOptionNames])
  const read = readCron(expression)
  const wall = readWallOptions(options)
  const { dates } = read
  const days = new MonthDays(new CronDays(dates))
  if (days.firstFrom(0) === Infinity) {
    throw new InvalidInputError(
      'never-matches',
      `the cron expression ${shown(read.text)} never matches: none of its months has such a day`,
    )
  }
  const isDaily = dates.days.length === 31 && dates.weekdays.length === 7 && dates.months.length === 12
  const times = new FieldTimes(
    new FieldSet(read.hours),
    new FieldSet(read.minutes),
    new FieldSet(read.seconds),
  )
  const rule = new WallRule({
    pattern: new DayTimes(isDaily ? everyDay : days, times),
    wall,
    json: { type: 'cron', expression: read.text, ...wallJson(wall) },
    words: cronWords(read),
    followsElapsedTime: read.followsElapsedTime,
  })
  return new Schedule(rule, readTerms(options, wall.zone, rule.startsAt))
}
