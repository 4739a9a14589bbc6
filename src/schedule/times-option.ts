import { InvalidInputError, LimitError, shown } from '../error/index.js'
import { limits } from './defaults.js'
import { ListedTimes } from './time-of-day.js'
import { formatTime, parseTime } from './wall-text.js'
import { listed } from './words.js'

/** The times of day of a calendar schedule. */
export interface AtOption {
  /** `'09:00'` or `'09:00:30'`, or several. Midnight unless given. */
  readonly at?: string | readonly string[]
}

export interface ReadTimes {
  readonly times: ListedTimes
  /** In order, each once, without needless seconds. */
  readonly json: readonly string[]
  readonly words: string
}

export function readTimes(at: AtOption['at'] = '00:00'): ReadTimes {
  const seconds = oneOrMore('at', at, limits.timesPerDay).map(parseTime)
  const times = new ListedTimes(seconds)
  const json = Array.from({ length: times.count }, (_, place) => formatTime(times.at(place)))
  return { times, json, words: `at ${listed(json)}` }
}

/** One value or a list of several: a list that is neither empty nor too long. */
export function oneOrMore<T>(what: string, value: T | readonly T[], most: number): readonly T[] {
  const values: readonly T[] = Array.isArray(value) ? value : [value as T]
  if (values.length === 0) {
    throw new InvalidInputError(
      'invalid-option',
      `${what} must name at least one, got ${shown(value)} of none`,
    )
  }
  if (values.length > most) {
    throw new LimitError('too-many-occurrences', `${what} can name at most ${most}, got ${values.length}`)
  }
  return values
}
