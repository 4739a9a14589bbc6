import { InvalidInputError, shown } from '../../error/index.js'
import { checkLength } from '../option-checks.js'
import type { CronDates } from './cron-days.js'
import { fieldError, type FieldRead, type FieldSpec, readField, valueOf } from './cron-field.js'
import { limits } from '../defaults.js'

/** A parsed and checked cron expression. */
export interface CronExpression {
  /** The expression as written, with single spaces. */
  readonly text: string
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  /**
   * Whether the hour field is a wildcard, range or step. Such an expression follows elapsed time: every
   * instant whose local time matches counts, and the gap and overlap rules do not apply.
   */
  readonly followsElapsedTime: boolean
  readonly dates: CronDates
}

const second: FieldSpec = { name: 'second', min: 0, max: 59, example: '0, 0-30, */10' }
const minute: FieldSpec = { name: 'minute', min: 0, max: 59, example: '0, 0-30, */15' }
const hour: FieldSpec = { name: 'hour', min: 0, max: 23, example: '9, 9-17, */2' }
const dayOfMonth: FieldSpec = { name: 'day of month', min: 1, max: 31, example: '1, 1-15, L, L-2, 15W, LW' }
const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const month: FieldSpec = {
  name: 'month',
  min: 1,
  max: 12,
  names: monthNames,
  firstNamed: 1,
  example: '1, JAN-MAR, */3',
}
const weekday: FieldSpec = {
  name: 'weekday',
  min: 0,
  max: 7,
  names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
  example: '1, MON-FRI, FRI#3, 5L',
}

const nicknames: Readonly<Record<string, string>> = Object.freeze({
  '@YEARLY': '0 0 1 1 *',
  '@ANNUALLY': '0 0 1 1 *',
  '@MONTHLY': '0 0 1 * *',
  '@WEEKLY': '0 0 * * 0',
  '@DAILY': '0 0 * * *',
  '@MIDNIGHT': '0 0 * * *',
  '@HOURLY': '0 * * * *',
})

/** Parses five fields (minute hour day month weekday), six (second first), or a nickname such as `@daily`. */
export function readCron(expression: unknown): CronExpression {
  if (typeof expression !== 'string') {
    throw new InvalidInputError(
      'invalid-cron',
      `a cron expression must be a string, got ${shown(expression)}`,
    )
  }
  checkLength('a cron expression', expression, limits.cronLength)
  const text = expression.trim().replace(/\s+/g, ' ')
  const upper = text.toUpperCase()
  const fields = (nicknames[upper] ?? upper).split(' ')
  if (fields.length !== 5 && fields.length !== 6) throw wrongFieldCount(text, fields.length)
  const [atSecond, atMinute, atHour, onDay, inMonth, onWeekday] = (
    fields.length === 6 ? fields : ['0', ...fields]
  ).map((field) => field.split(',')) as [string[], string[], string[], string[], string[], string[]]
  const hours = readField(atHour, hour)
  return {
    text,
    seconds: readField(atSecond, second).values,
    minutes: readField(atMinute, minute).values,
    hours: hours.values,
    followsElapsedTime: !hours.isListed,
    dates: {
      months: readField(inMonth, month).values,
      ...readDays(onDay),
      ...readWeekdays(onWeekday),
      // As in cron, a field that begins with a star does not count as restricted.
      either: !isOpen(onDay) && !isOpen(onWeekday),
    },
  }
}

type DayDates = Pick<CronDates, 'days' | 'daysBeforeLast' | 'nearestWorkday' | 'lastWorkday'>

function readDays(parts: readonly string[]): DayDates {
  const daysBeforeLast: number[] = []
  const nearestWorkday: number[] = []
  let lastWorkday = false
  const plain: string[] = []
  for (const part of parts) {
    const last = /^L(?:-(\d{1,2}))?$/.exec(part)
    const nearest = /^(\d{1,2})W$/.exec(part)
    if (last !== null) daysBeforeLast.push(lastOffset(last[1], part))
    else if (nearest !== null) nearestWorkday.push(valueOf(nearest[1]!, dayOfMonth, part))
    else if (part === 'LW') lastWorkday = true
    else plain.push(part)
  }
  const { values } = readOpen(plain, dayOfMonth)
  return { days: values, daysBeforeLast, nearestWorkday, lastWorkday }
}

function lastOffset(text: string | undefined, part: string): number {
  const before = Number(text ?? 0)
  if (before <= 30) return before
  throw fieldError(dayOfMonth, part, 'L-0 to L-30 are allowed')
}

type WeekdayDates = Pick<CronDates, 'weekdays' | 'nthWeekdays' | 'lastWeekdays'>

function readWeekdays(parts: readonly string[]): WeekdayDates {
  const nthWeekdays: { weekday: number; nth: number }[] = []
  const lastWeekdays: number[] = []
  const plain: string[] = []
  for (const part of parts) {
    const special = /^([0-9]|[A-Z]{3})(?:#([1-5])|(L))$/.exec(part)
    if (special === null) plain.push(part)
    else {
      const day = valueOf(special[1]!, weekday, part) % 7
      if (special[2] === undefined) lastWeekdays.push(day)
      else nthWeekdays.push({ weekday: day, nth: Number(special[2]) })
    }
  }
  const { values } = readOpen(plain, weekday)
  return { weekdays: [...new Set(values.map((value) => value % 7))], nthWeekdays, lastWeekdays }
}

/** In the date fields, `?` means the same as a star. */
function readOpen(parts: readonly string[], spec: FieldSpec): FieldRead {
  return readField(
    parts.map((part) => (part === '?' ? '*' : part)),
    spec,
  )
}

function isOpen(parts: readonly string[]): boolean {
  return parts.some((part) => part.startsWith('*') || part === '?')
}

function wrongFieldCount(text: string, count: number): InvalidInputError {
  const hint = text.startsWith('@')
    ? `known nicknames are ${Object.keys(nicknames).join(', ').toLowerCase()}`
    : count === 7
      ? 'there is no year field: use `from` and `until`'
      : "write 'minute hour day month weekday', with a second in front if you need it"
  return new InvalidInputError(
    'invalid-cron',
    `cannot read ${shown(text)} as cron: it has ${text === '' ? 0 : count} fields, expected 5 or 6; ${hint}`,
  )
}
