import type { RruleParts } from './rrule-text.js'
import { listed, monthWords, numbers, ordinal, weekdayWords } from '../words.js'

const units = {
  YEARLY: 'year',
  MONTHLY: 'month',
  WEEKLY: 'week',
  DAILY: 'day',
  HOURLY: 'hour',
  MINUTELY: 'minute',
  SECONDLY: 'second',
} as const

/** Describes a recurrence rule: `'every 2 weeks on Monday and Friday'`. */
export function rruleWords(parts: RruleParts): string {
  const unit = units[parts.freq]
  const places = (values: readonly number[], word: string) =>
    `${word} ${listed(values.map((value) => (value >= 0 ? String(value) : ordinal(value))))}`
  const words = [
    parts.interval === 1 ? `every ${unit}` : `every ${parts.interval} ${unit}s`,
    parts.months.length > 0 && `in ${numbers(parts.months, (month) => monthWords[month - 1]!)}`,
    parts.weekNumbers.length > 0 && `in ${places(parts.weekNumbers, 'week')}`,
    parts.yearDays.length > 0 && `on ${places(parts.yearDays, 'day')} of the year`,
    parts.monthDays.length > 0 && `on ${places(parts.monthDays, 'day')} of the month`,
    parts.weekdays.length > 0 && `on ${listed(parts.weekdays.map(weekdayName))}`,
    parts.hours.length > 0 && `in ${places(parts.hours, 'hour')}`,
    parts.minutes.length > 0 && `at ${places(parts.minutes, 'minute')}`,
    parts.seconds.length > 0 && `at ${places(parts.seconds, 'second')}`,
    parts.setPositions.length > 0 && `only the ${listed(parts.setPositions.map(ordinal))} of those`,
    parts.count !== undefined && `${parts.count} times`,
  ]
  return words.filter((word) => word !== false).join(' ')
}

function weekdayName({ nth, weekday }: { readonly nth: number; readonly weekday: number }): string {
  const name = weekdayWords[weekday]!
  return nth === 0 ? name : `the ${ordinal(nth)} ${name}`
}

const MAX_AMENDMENTS = 3

/** Describes the first few exceptions and additions: `', except 2027-01-04 and 2027-01-05T09:00'`. */
export function amendmentWords(except?: readonly string[], also?: readonly string[]): string {
  const some = (texts: readonly string[]) =>
    listed([
      ...texts.slice(0, MAX_AMENDMENTS).map((text) => text.replace(/(T\d\d:\d\d):00(Z?)$/, '$1$2')),
      ...(texts.length > MAX_AMENDMENTS ? [`${texts.length - MAX_AMENDMENTS} more`] : []),
    ])
  return (except ? `, except ${some(except)}` : '') + (also ? `, also ${some(also)}` : '')
}
