import { InvalidInputError, shown } from '../error/index.js'
import type { Schedule } from '../schedule/index.js'
import { type Duration, parseDuration } from '../time/index.js'

/** An instant: epoch milliseconds, a `Date`, an ISO 8601 string with an offset, or a Temporal instant. */
export type Instant = number | Date | string | { readonly epochMilliseconds: number }

/** When a timer fires: after a duration, at an instant (a past one fires now), or on a schedule. */
export type When =
  | { readonly in: Duration; readonly at?: never; readonly on?: never }
  | { readonly at: Instant; readonly in?: never; readonly on?: never }
  | { readonly on: Schedule; readonly in?: never; readonly at?: never }

/** The due time for `when`, counted from `now`. */
export function dueAtOf(when: When, now: number, seed: string): number {
  const given =
    (when.in === undefined ? 0 : 1) + (when.at === undefined ? 0 : 1) + (when.on === undefined ? 0 : 1)
  if (given !== 1) {
    throw new InvalidInputError('invalid-when', `pass exactly one of in, at and on, got ${given} of them`)
  }
  if (when.in !== undefined) return now + Math.ceil(parseDuration(when.in))
  if (when.at !== undefined) return epochMsOf(when.at)
  if (typeof when.on?.next !== 'function') {
    throw new InvalidInputError(
      'invalid-when',
      `on must be a schedule such as cron('0 9 * * *') or daily({ at: '09:00' }), got ${shown(when.on)}`,
    )
  }
  const next = when.on.next(now, { seed })
  if (next === undefined) {
    throw new InvalidInputError(
      'schedule-ended',
      `this schedule has no more occurrences: ${when.on.describe()}`,
    )
  }
  return next
}

/** Without an offset from UTC, a string would mean a different instant on each machine. */
const WITH_OFFSET = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/

export function epochMsOf(instant: Instant): number {
  const ms = rawMsOf(instant)
  if (Number.isFinite(ms) && Math.abs(ms) <= 8.64e15) return Math.max(0, Math.ceil(ms))
  throw new InvalidInputError(
    'invalid-instant',
    `an instant must be epoch milliseconds, a Date, a Temporal.Instant or a string such as '2027-01-31T09:00:00Z', got ${shown(instant)}`,
  )
}

function rawMsOf(instant: Instant): number {
  if (typeof instant === 'number') return instant
  if (typeof instant === 'string') return WITH_OFFSET.test(instant) ? Date.parse(instant) : Number.NaN
  if (instant instanceof Date) return instant.getTime()
  return typeof instant === 'object' && instant !== null && typeof instant.epochMilliseconds === 'number'
    ? instant.epochMilliseconds
    : Number.NaN
}
