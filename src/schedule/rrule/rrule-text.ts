import { InvalidInputError, shown } from '../../error/index.js'
import { limits } from '../defaults.js'
import { fieldsToLocal } from '../zone/wall-text.js'

export type Frequency = 'YEARLY' | 'MONTHLY' | 'WEEKLY' | 'DAILY' | 'HOURLY' | 'MINUTELY' | 'SECONDLY'

/** A weekday of BYDAY, Sunday as 0. `nth` is 0 for every such weekday. */
interface NthWeekday {
  readonly nth: number
  readonly weekday: number
}

/** The parts of an RFC 5545 recurrence rule. The array of a missing part is empty. */
export interface RruleParts {
  readonly text: string
  readonly freq: Frequency
  readonly interval: number
  readonly count: number | undefined
  readonly until: RruleUntil | undefined
  readonly weekStart: number
  readonly months: readonly number[]
  readonly weekNumbers: readonly number[]
  readonly yearDays: readonly number[]
  readonly monthDays: readonly number[]
  readonly weekdays: readonly NthWeekday[]
  readonly hours: readonly number[]
  readonly minutes: readonly number[]
  readonly seconds: readonly number[]
  readonly setPositions: readonly number[]
}

/** The last second of a rule, inclusive, in UTC or in local time. */
interface RruleUntil {
  readonly second: number
  readonly isUtc: boolean
}

const frequencies: readonly Frequency[] = [
  'YEARLY',
  'MONTHLY',
  'WEEKLY',
  'DAILY',
  'HOURLY',
  'MINUTELY',
  'SECONDLY',
]
const weekdayCodes = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']
const names = [
  'FREQ',
  'INTERVAL',
  'COUNT',
  'UNTIL',
  'WKST',
  'BYMONTH',
  'BYWEEKNO',
  'BYYEARDAY',
  'BYMONTHDAY',
  'BYDAY',
  'BYHOUR',
  'BYMINUTE',
  'BYSECOND',
  'BYSETPOS',
]

/** Parses `'FREQ=WEEKLY;BYDAY=MO,WE'`. Throws on parts and combinations that RFC 5545 does not allow. */
export function readRrule(text: string): RruleParts {
  const parts = readParts(text)
  const freq = frequencies.find((frequency) => frequency === parts.get('FREQ'))
  if (freq === undefined) throw rruleError(text, `FREQ must be one of ${frequencies.join(', ')}`)
  const list = (name: string, min: number, max: number): number[] =>
    (parts.get(name)?.split(',') ?? []).map((item) => readNumber(name, item, min, max))
  const read: RruleParts = {
    text,
    freq,
    interval: readNumber('INTERVAL', parts.get('INTERVAL') ?? '1', 1, 1_000_000),
    count: parts.has('COUNT') ? readNumber('COUNT', parts.get('COUNT')!, 1, limits.times) : undefined,
    until: parts.has('UNTIL') ? readUntil(parts.get('UNTIL')!) : undefined,
    weekStart: readWeekdayCode('WKST', parts.get('WKST') ?? 'MO'),
    months: list('BYMONTH', 1, 12),
    weekNumbers: list('BYWEEKNO', -53, 53),
    yearDays: list('BYYEARDAY', -366, 366),
    monthDays: list('BYMONTHDAY', -31, 31),
    weekdays: (parts.get('BYDAY')?.split(',') ?? []).map(readNthWeekday),
    hours: list('BYHOUR', 0, 23),
    minutes: list('BYMINUTE', 0, 59),
    seconds: list('BYSECOND', 0, 59),
    setPositions: list('BYSETPOS', -366, 366),
  }
  checkCombination(read)
  return read
}

/**
 * Parses `'20270104T090000Z'`, `'20270104T090000'` or `'20270104'` into seconds. Returns undefined for
 * anything else.
 */
export function readBasicTime(
  text: string,
): { readonly second: number; readonly isUtc: boolean; readonly isDate: boolean } | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?$/.exec(text)
  const second = match === null ? undefined : fieldsToLocal(match.slice(1, 7))
  if (match === null || second === undefined) return undefined
  return { second, isUtc: match[7] !== undefined, isDate: match[4] === undefined }
}

export function rruleError(text: string, hint: string): InvalidInputError {
  return new InvalidInputError('invalid-rrule', `cannot read ${shown(text)} as a recurrence rule: ${hint}`)
}

function readParts(text: string): Map<string, string> {
  const parts = new Map<string, string>()
  for (const part of text.split(';')) {
    const [name, value, ...rest] = part.split('=')
    if (!names.includes(name!) || value === undefined || value === '' || rest.length > 0) {
      throw rruleError(part, `write each part as NAME=value; the names are ${names.join(', ')}`)
    }
    if (parts.has(name!)) throw rruleError(part, `${name} is given twice`)
    parts.set(name!, value)
  }
  return parts
}

function checkCombination(read: RruleParts): void {
  const { freq } = read
  const ordinals = read.weekdays.some(({ nth }) => nth !== 0)
  const faults: [boolean, string][] = [
    [read.count !== undefined && read.until !== undefined, 'COUNT and UNTIL exclude each other'],
    [read.weekNumbers.length > 0 && freq !== 'YEARLY', 'BYWEEKNO is only allowed with FREQ=YEARLY'],
    [
      read.yearDays.length > 0 && ['MONTHLY', 'WEEKLY', 'DAILY'].includes(freq),
      `BYYEARDAY is not allowed with FREQ=${freq}`,
    ],
    [read.monthDays.length > 0 && freq === 'WEEKLY', 'BYMONTHDAY is not allowed with FREQ=WEEKLY'],
    [
      ordinals && freq !== 'YEARLY' && freq !== 'MONTHLY',
      'numbered weekdays such as 2MO are only allowed with FREQ=MONTHLY and FREQ=YEARLY',
    ],
    [ordinals && read.weekNumbers.length > 0, 'numbered weekdays such as 2MO are not allowed with BYWEEKNO'],
    [
      read.setPositions.length > 0 && !/;BY(?!SETPOS)/.test(read.text),
      'BYSETPOS needs another BY part to pick from',
    ],
  ]
  for (const [isFault, hint] of faults) if (isFault) throw rruleError(read.text, hint)
}

function readNumber(name: string, text: string, min: number, max: number): number {
  const value = /^[+-]?\d{1,7}$/.test(text) ? Number(text) : Number.NaN
  // Parts that also count from the end have no 0.
  if (value >= min && value <= max && !(value === 0 && min < 0)) return value
  throw rruleError(`${name}=${text}`, `${name} must be ${min} to ${max}${min < 0 ? ', and not 0' : ''}`)
}

function readNthWeekday(text: string): NthWeekday {
  const match = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(text)
  if (match === null) throw rruleError(`BYDAY=${text}`, 'write weekdays as MO, 2MO or -1FR')
  const nth = match[1] === undefined ? 0 : readNumber('BYDAY', match[1], -53, 53)
  return { nth, weekday: readWeekdayCode('BYDAY', match[2]!) }
}

function readWeekdayCode(name: string, code: string): number {
  const weekday = weekdayCodes.indexOf(code)
  if (weekday >= 0) return weekday
  throw rruleError(`${name}=${code}`, `weekdays are ${weekdayCodes.join(', ')}`)
}

function readUntil(text: string): RruleUntil {
  const read = readBasicTime(text)
  if (read === undefined) throw rruleError(`UNTIL=${text}`, 'write it as 20271231T235959Z, or as 20271231')
  // A date without a time includes the whole day.
  return { second: read.isDate ? read.second + 86_399 : read.second, isUtc: read.isUtc }
}
