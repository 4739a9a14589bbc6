import { DAY_S } from './calendar.js'
import type { FieldSet } from './field-set.js'

/** The times of day of a schedule, in seconds after local midnight, ascending. Never empty. */
export interface TimesOfDay {
  readonly earliest: number
  readonly count: number
  /** Returns the first time that is at least `second`, or -1 if the day has no more. */
  firstFrom(second: number): number
  /** Counts the times before `second`. */
  countBefore(second: number): number
  /** Returns the time at an index, from 0. */
  at(index: number): number
}

/** Whether any time lies between two times of day. The second may belong to the next day. */
export function hasTimeBetween(times: TimesOfDay, from: number, untilExclusive: number): boolean {
  if (untilExclusive <= DAY_S) {
    const first = times.firstFrom(from)
    return first >= 0 && first < untilExclusive
  }
  return times.firstFrom(from) >= 0 || times.earliest < untilExclusive - DAY_S
}

/** Every combination of allowed hours, minutes and seconds, as in cron and recurrence rules. */
export class FieldTimes implements TimesOfDay {
  readonly hours: FieldSet
  readonly minutes: FieldSet
  readonly seconds: FieldSet
  readonly earliest: number
  readonly count: number

  constructor(hours: FieldSet, minutes: FieldSet, seconds: FieldSet) {
    this.hours = hours
    this.minutes = minutes
    this.seconds = seconds
    this.earliest = secondOfDay(hours.smallest, minutes.smallest, seconds.smallest)
    this.count = hours.values.length * minutes.values.length * seconds.values.length
  }

  firstFrom(second: number): number {
    const hour = Math.trunc(second / 3600)
    const atHour = this.hours.firstFrom(hour)
    if (atHour === hour) {
      const minute = Math.trunc((second - hour * 3600) / 60)
      const atMinute = this.minutes.firstFrom(minute)
      if (atMinute === minute) {
        const atSecond = this.seconds.firstFrom(second % 60)
        if (atSecond >= 0) return secondOfDay(hour, minute, atSecond)
        const later = this.minutes.firstFrom(minute + 1)
        if (later >= 0) return secondOfDay(hour, later, this.seconds.smallest)
      } else if (atMinute >= 0) {
        return secondOfDay(hour, atMinute, this.seconds.smallest)
      }
      return this.#startOf(this.hours.firstFrom(hour + 1))
    }
    return this.#startOf(atHour)
  }

  countBefore(second: number): number {
    const hour = Math.trunc(second / 3600)
    const minute = Math.trunc((second - hour * 3600) / 60)
    const { hours, minutes, seconds } = this
    const perMinute = seconds.values.length
    let count = hours.countBelow(hour) * minutes.values.length * perMinute
    if (!hours.has(hour)) return count
    count += minutes.countBelow(minute) * perMinute
    return minutes.has(minute) ? count + seconds.countBelow(second % 60) : count
  }

  at(index: number): number {
    const { hours, minutes, seconds } = this
    const minuteIndex = Math.floor(index / seconds.values.length)
    const hourIndex = Math.floor(minuteIndex / minutes.values.length)
    return secondOfDay(
      hours.values[hourIndex]!,
      minutes.values[minuteIndex - hourIndex * minutes.values.length]!,
      seconds.values[index - minuteIndex * seconds.values.length]!,
    )
  }

  #startOf(hour: number): number {
    return hour < 0 ? -1 : secondOfDay(hour, this.minutes.smallest, this.seconds.smallest)
  }
}

/** Times given one by one. */
export class ListedTimes implements TimesOfDay {
  readonly #seconds: readonly number[]
  readonly earliest: number
  readonly count: number

  constructor(seconds: readonly number[]) {
    this.#seconds = [...new Set(seconds)].sort((a, b) => a - b)
    this.earliest = this.#seconds[0]!
    this.count = this.#seconds.length
  }

  firstFrom(second: number): number {
    for (const candidate of this.#seconds) if (candidate >= second) return candidate
    return -1
  }

  countBefore(second: number): number {
    const index = this.#seconds.findIndex((candidate) => candidate >= second)
    return index < 0 ? this.count : index
  }

  at(index: number): number {
    return this.#seconds[index]!
  }
}

function secondOfDay(hour: number, minute: number, second: number): number {
  return hour * 3600 + minute * 60 + second
}
