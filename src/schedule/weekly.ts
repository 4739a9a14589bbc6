import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { modulo, weekdayOf } from './calendar.js'
import { calendarNames, type CalendarOptions, calendarSchedule } from './calendar-schedule.js'
import { bitCount, lowestBit } from './field-set.js'
import type { Days } from './month-days.js'
import type { Schedule } from './schedule.js'
import { oneOrMore } from './times-option.js'
import { listed, weekdayWords } from './words.js'

export type Weekday = 'monday' | 'tuesday' | 'wednesday' | 'thursday' | 'friday' | 'saturday' | 'sunday'

export interface WeeklyOptions extends CalendarOptions {
  /** The weekday, or several. */
  readonly on: Weekday | readonly Weekday[]
}

/** On the same weekdays every week: `weekly({ on: ['monday', 'friday'], at: '09:00' })`. */
export function weekly(options: WeeklyOptions): Schedule {
  checkOptions('weekly', options, ['on', ...calendarNames])
  const weekdays = new Set(oneOrMore('on', options.on, 7).map(readWeekday))
  // Monday first, as people list them.
  const ordered = [...weekdays].sort((a, b) => modulo(a - 1, 7) - modulo(b - 1, 7))
  const names = ordered.map((weekday) => weekdayWords[weekday]!)
  return calendarSchedule(
    {
      days: new WeekDays(ordered),
      words: `every ${listed(names)}`,
      json: (at, wall) => ({ type: 'weekly', on: names.map((name) => name.toLowerCase()), at, ...wall }),
    },
    options,
  )
}

class WeekDays implements Days {
  readonly #twoWeeks: number

  constructor(weekdays: readonly number[]) {
    const week = weekdays.reduce((bits, weekday) => bits | (1 << weekday), 0)
    this.#twoWeeks = week | (week << 7)
  }

  firstFrom(day: number): number {
    return day + lowestBit(this.#twoWeeks >>> weekdayOf(day))
  }

  count(from: number, untilExclusive: number): number {
    const weeks = Math.floor((untilExclusive - from) / 7)
    const rest = untilExclusive - from - weeks * 7
    const inRest = (this.#twoWeeks >>> weekdayOf(from)) & ((1 << rest) - 1)
    return (weeks * bitCount(this.#twoWeeks)) / 2 + bitCount(inRest)
  }
}

function readWeekday(name: unknown): number {
  const weekday = weekdayWords.findIndex((word) => word.toLowerCase() === name)
  if (weekday >= 0) return weekday
  throw new InvalidInputError(
    'invalid-option',
    `on takes weekdays such as 'monday' or ['monday', 'friday'], got ${shown(name)}`,
  )
}
