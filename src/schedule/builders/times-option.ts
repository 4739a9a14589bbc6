import { InvalidInputError, LimitError } from '../../error/index.js'
import { limits } from '../defaults.js'
import { ListedTimes } from '../calendar/time-of-day.js'
import { formatTime, parseTime } from '../zone/wall-text.js'
import { listed } from '../words.js'

/** The times of day of a calendar schedule. */
export interface AtOption {
  /** `'09:00'`, `'09:00:30'`, or an array of such times. Default: midnight. */
  readonly at?: string | readonly string[]
}

export interface ReadTimes {
  readonly times: ListedTimes
  /** In order, without duplicates, and without seconds if they are 0. */
  readonly json: readonly string[]
  readonly words: string
}

export function readTimes(at: AtOption['at'] = '00:00'): ReadTimes {
  const seconds = oneOrMore('at', at, limits.timesPerDay).map(parseTime)
  const times = new ListedTimes(seconds)
  const json = Array.from({ length: times.count }, (_, index) => formatTime(times.at(index)))
  return { times, json, words: `at ${listed(json)}` }
}

/** Returns the value as an array. Refuses an empty array and one with more than `most` values. */
export function oneOrMore<T>(what: string, value: T | readonly T[], most: number): readonly T[] {
  const values: readonly T[] = Array.isArray(value) ? value : [value as T]
  if (values.length === 0) {
    throw new InvalidInputError(
      'invalid-option',
      `${what} must not be an empty array: give at least one value`,
    )
  }
  if (values.length > most) {
    throw new LimitError('too-many-occurrences', `${what} takes at most ${most} values, got ${values.length}`)
  }
  return values
}
