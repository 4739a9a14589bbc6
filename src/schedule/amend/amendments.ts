import { InvalidInputError, LimitError, shown } from '../../error/index.js'
import { DAY_S } from '../calendar/calendar.js'
import { limits } from '../defaults.js'
import { formatDay, formatLocal, parseInstant, parseLocal } from '../zone/wall-text.js'
import type { LocalTimesAndDays } from './except-pattern.js'
import type { Zone } from '../zone/zone.js'

/**
 * A local date, a local time, or an instant (epoch milliseconds or a string with an offset). One value or an
 * array.
 */
export type AmendmentOption = number | string | readonly (number | string)[]

/**
 * Exceptions from a rule, or additions to it: local times, local days and instants. Each array is ascending,
 * without duplicates.
 */
export interface Amendments extends LocalTimesAndDays {
  readonly instants: readonly number[]
}

const DATE = /^\d{4}-\d\d-\d\d$/

/** Reads `except` or `also`. */
export function readAmendments(what: string, option: unknown, zone: Zone): Amendments {
  const entries: readonly unknown[] = option === undefined ? [] : Array.isArray(option) ? option : [option]
  if (entries.length > limits.amendments) {
    throw new LimitError(
      'too-many-occurrences',
      `${what} takes at most ${limits.amendments} values, got ${entries.length}`,
    )
  }
  const times: number[] = []
  const days: number[] = []
  const instants: number[] = []
  for (const entry of entries) {
    const local = typeof entry === 'string' && entry.length <= 40 ? parseLocal(entry) : undefined
    if (local === undefined) instants.push(readInstant(what, entry, zone))
    else if (DATE.test(entry as string)) days.push(local / DAY_S)
    else times.push(local)
  }
  return { times: ascending(times), days: ascending(days), instants: ascending(instants) }
}

/** Returns the stored form: dates, local times, instants. Returns undefined if there are none. */
export function amendmentsJson({ times, days, instants }: Amendments): readonly string[] | undefined {
  const texts = [
    ...days.map(formatDay),
    ...times.map(formatLocal),
    ...instants.map((instant) => isoInstant(instant)),
  ]
  return texts.length > 0 ? texts : undefined
}

function isoInstant(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z')
}

function readInstant(what: string, entry: unknown, zone: Zone): number {
  try {
    return parseInstant(what, entry, zone)
  } catch (error) {
    throw new InvalidInputError(
      'invalid-instant',
      `cannot read ${shown(entry)} in ${what}: write a date '2027-01-04', a local time '2027-01-04T09:00', or an ` +
        `instant '2027-01-04T09:00Z', of the years 1 to 9999`,
      { cause: error },
    )
  }
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b)
}
