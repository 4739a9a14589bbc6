import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { CronDays } from './cron-days.js'
import { readCron } from './cron-expression.js'
import { cronWords } from './cron-words.js'
import { FieldSet } from './field-set.js'
import { everyDay, MonthDays } from './month-days.js'
import { DayTimes } from './pattern.js'
import { Schedule } from './schedule.js'
import { readTerms, termNames, type TermOptions } from './terms.js'
import { FieldTimes } from './time-of-day.js'
import { readWall, wallJson, wallNames, type WallOptions, WallRule } from './wall-rule.js'

export interface CronOptions extends WallOptions, TermOptions {}

/**
 * A schedule from a cron expression: five fields (minute hour day month weekday), six with seconds in front, or
 * a nickname such as `@daily`; names, ranges, steps, `L`, `W` and `#`. A day of the month *or* a weekday
 * suffices when both are restricted. When the hour field is a wildcard, range or step, every matching instant
 * that exists counts once as time passes; else the gap and overlap rules decide. An expression that is
 * malformed or never matches is refused here.
 */
export function cron(expression: string, options: CronOptions = {}): Schedule {
  checkOptions('cron', options, [...wallNames, ...termNames])
  const read = readCron(expression)
  const wall = readWall(options)
  const { dates } = read
  const days = new MonthDays(new CronDays(dates))
  if (days.firstFrom(0) === Infinity) {
    throw new InvalidInputError(
      'never-matches',
      `the cron expression ${shown(read.text)} never matches: no month it names has such a day`,
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
    running: read.running,
  })
  return new Schedule(rule, readTerms(options, wall.zone, rule.from))
}
