import type { CronExpression } from './cron-expression.js'
import { formatTime } from '../zone/wall-text.js'
import { listed, monthWords, numbers, ordinal, weekdayWords } from '../words.js'

const MAX_LISTED_TIMES = 6

/** Describes a cron expression: `'at 09:00, on Monday to Friday'`. */
export function cronWords(expression: CronExpression): string {
  return [timeWords(expression), dateWords(expression), monthPart(expression)]
    .filter((part) => part !== '')
    .join(', ')
}

function timeWords({ seconds, minutes, hours, followsElapsedTime }: CronExpression): string {
  if (!followsElapsedTime && seconds.length * minutes.length * hours.length <= MAX_LISTED_TIMES) {
    const times = hours.flatMap((hour) =>
      minutes.flatMap((minute) => seconds.map((second) => formatTime(hour * 3600 + minute * 60 + second))),
    )
    return `at ${listed(times)}`
  }
  const parts = [
    seconds.length === 1 && seconds[0] === 0 ? '' : unitWords('second', seconds, 60),
    unitWords('minute', minutes, 60),
    hours.length === 24 ? '' : `in ${hours.length === 1 ? 'hour' : 'hours'} ${numbers(hours)}`,
  ]
  return parts.filter((part) => part !== '').join(', ')
}

function unitWords(unit: string, values: readonly number[], span: number): string {
  if (values.length === span) return `every ${unit}`
  const step = values.length > 1 ? values[1]! - values[0]! : 0
  const even = values[0] === 0 && span % step === 0 && values.every((value, i) => value === i * step)
  if (even && values.length === span / step) return `every ${step} ${unit}s`
  return `at ${values.length === 1 ? unit : `${unit}s`} ${numbers(values)}`
}

function dateWords({ dates }: CronExpression): string {
  const days = dates.days.length === 31 ? '' : dayWords(dates)
  const weekdays = dates.weekdays.length === 7 ? '' : weekdayPart(dates)
  if (days === '' || weekdays === '') return days + weekdays
  return `${days} ${dates.either ? 'or' : 'if also'} ${weekdays}`
}

function dayWords(dates: CronExpression['dates']): string {
  const parts = [
    dates.days.length === 0 ? '' : `${dates.days.length === 1 ? 'day' : 'days'} ${numbers(dates.days)}`,
    ...dates.daysBeforeLast.map(
      (before) => `the ${before === 0 ? '' : `${ordinal(before + 1)} to `}last day`,
    ),
    ...dates.nearestWorkday.map((day) => `the workday nearest to day ${day}`),
    dates.lastWorkday ? 'the last workday' : '',
  ]
  return `on ${listed(parts.filter((part) => part !== ''))} of the month`
}

function weekdayPart(dates: CronExpression['dates']): string {
  const name = (weekday: number) => weekdayWords[weekday]!
  const parts = [
    dates.weekdays.length === 0 ? '' : numbers(dates.weekdays, name),
    ...dates.nthWeekdays.map(({ weekday, nth }) => `the ${ordinal(nth)} ${name(weekday)} of the month`),
    ...dates.lastWeekdays.map((weekday) => `the last ${name(weekday)} of the month`),
  ]
  return `on ${listed(parts.filter((part) => part !== ''))}`
}

function monthPart({ dates }: CronExpression): string {
  return dates.months.length === 12 ? '' : `in ${numbers(dates.months, (month) => monthWords[month - 1]!)}`
}
