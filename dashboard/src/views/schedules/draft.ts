import { parseDuration } from '../../../../src/time/duration.ts'
import { parseExactly, stringifyExactly } from '../../api/exact-json.ts'
import type { ScheduleJson } from '../../api/types.ts'

/** A schedule while somebody edits it: every field is text. What the form does not show is kept as it is. */
export interface Draft {
  readonly type: DraftType
  readonly fields: Readonly<Record<string, string>>
  /** The fields of the stored form that the form does not show: `missed`, `until` and the like. */
  readonly rest: Readonly<Record<string, unknown>>
}

export type DraftType = 'cron' | 'daily' | 'weekly' | 'monthly' | 'yearly' | 'every' | 'rrule' | 'json'

export interface FieldInfo {
  readonly name: string
  readonly label: string
  readonly hint: string
  readonly start: string
  readonly options?: readonly (readonly [string, string])[]
}

const at: FieldInfo = {
  name: 'at',
  label: 'Time of day',
  hint: 'Such as 09:00, or several: 09:00, 17:30.',
  start: '09:00',
}
const day: FieldInfo = {
  name: 'day',
  label: 'Day of the month',
  hint: '1 to 31, or last. Several: 1, 15.',
  start: '1',
}
const invalidDate: FieldInfo = {
  name: 'invalidDate',
  label: 'If the month has no such day',
  hint: '',
  start: 'backward',
  options: [
    ['backward', 'its last day'],
    ['forward', 'the first day after it'],
    ['skip', 'not at all'],
  ],
}
const wall: readonly FieldInfo[] = [
  { name: 'zone', label: 'Zone', hint: 'Such as Europe/Paris, UTC or +05:30.', start: 'UTC' },
  {
    name: 'gap',
    label: 'If the time does not exist',
    hint: 'Clocks go forward.',
    start: 'next',
    options: [
      ['next', 'right after the gap'],
      ['shift', 'as far after it'],
      ['skip', 'not at all'],
    ],
  },
  {
    name: 'overlap',
    label: 'If the time comes twice',
    hint: 'Clocks go back.',
    start: 'first',
    options: [
      ['first', 'the first time'],
      ['second', 'the second time'],
      ['both', 'both times'],
    ],
  },
]

export const draftTypes: Readonly<
  Record<DraftType, { readonly title: string; readonly fields: readonly FieldInfo[] }>
> = {
  cron: {
    title: 'Cron expression',
    fields: [
      {
        name: 'expression',
        label: 'Expression',
        hint: 'Minute, hour, day, month, weekday; seconds may go before them.',
        start: '0 9 * * *',
      },
      ...wall,
    ],
  },
  daily: { title: 'Every day', fields: [at, ...wall] },
  weekly: {
    title: 'Every week',
    fields: [
      {
        name: 'on',
        label: 'Weekdays',
        hint: 'Such as monday, or several: monday, thursday.',
        start: 'monday',
      },
      at,
      ...wall,
    ],
  },
  monthly: { title: 'Every month', fields: [day, at, invalidDate, ...wall] },
  yearly: {
    title: 'Every year',
    fields: [{ name: 'month', label: 'Month', hint: '1 to 12.', start: '1' }, day, at, invalidDate, ...wall],
  },
  every: {
    title: 'At an interval',
    fields: [
      {
        name: 'every',
        label: 'Every',
        hint: 'Such as 15m, 1h or 1d: elapsed time, whatever the clocks do.',
        start: '15m',
      },
    ],
  },
  rrule: {
    title: 'Recurrence rule (iCalendar)',
    fields: [
      {
        name: 'rule',
        label: 'Rule',
        hint: 'RFC 5545, such as FREQ=MONTHLY;BYDAY=-1FR.',
        start: 'FREQ=WEEKLY;BYDAY=MO',
      },
      {
        name: 'start',
        label: 'Start',
        hint: 'A local time, such as 2027-01-04T09:00.',
        start: '2027-01-04T09:00',
      },
      ...wall,
    ],
  },
  json: {
    title: 'JSON',
    fields: [
      {
        name: 'json',
        label: 'Schedule as JSON',
        hint: 'As docs/schedules.md describes it.',
        start: '{ "type": "daily", "at": "09:00" }',
      },
    ],
  },
}

const lists = new Set(['at', 'on', 'day'])
const numbers = new Set(['month'])

export function newDraft(type: DraftType, before?: Draft): Draft {
  const fields = Object.fromEntries(
    draftTypes[type].fields.map(({ name, start }) => [name, before?.fields[name] ?? start]),
  )
  return { type, fields, rest: before?.rest ?? {} }
}

/** The draft of a stored schedule. */
export function draftOf(schedule: ScheduleJson): Draft {
  const type = schedule.type as DraftType
  if (!Object.hasOwn(draftTypes, type) || hasMore(schedule))
    return { type: 'json', fields: { json: stringifyExactly(schedule) }, rest: {} }
  const names = new Set(draftTypes[type].fields.map(({ name }) => name))
  const { type: _, ...others } = schedule
  const entries = Object.entries(others)
  const fields: Record<string, string> = {}
  for (const [name, value] of entries) if (names.has(name)) fields[name] = textOf(value)
  if (type === 'every') fields['every'] = `${String(schedule['everyMs'])}ms`
  const rest = Object.fromEntries(entries.filter(([name]) => !names.has(name) && name !== 'everyMs'))
  return { ...newDraft(type), fields: { ...newDraft(type).fields, ...fields }, rest }
}

/** Exceptions and additions of a rule have no field of their own. */
function hasMore(schedule: ScheduleJson): boolean {
  return schedule['except'] !== undefined || schedule['also'] !== undefined
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value)
}

/** What the API gets as `on`. Throws if the JSON or the interval cannot be read; the rest is for the server to check. */
export function scheduleOf({ type, fields, rest }: Draft): unknown {
  if (type === 'json') return parseExactly(fields['json'] ?? '')
  if (type === 'every') {
    // An anchor of the stored form stays.
    return { ...rest, type, everyMs: parseDuration(fields['every'] ?? '') }
  }
  const given = draftTypes[type].fields.map(({ name }) => [name, valueOf(name, fields[name] ?? '')])
  const { anchor: _, ...kept } = rest
  return { ...kept, type, ...Object.fromEntries(given) }
}

function valueOf(name: string, text: string): unknown {
  const trimmed = text.trim()
  if (lists.has(name)) {
    const items = trimmed.split(/[\s,]+/).filter((item) => item !== '')
    return items.map((item) => (name === 'day' && /^\d+$/.test(item) ? Number(item) : item))
  }
  return numbers.has(name) && /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed
}
