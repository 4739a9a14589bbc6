import { InvalidInputError, shown } from '../error/index.js'
import type { Schedule } from '../schedule/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import { epochMsOf, type Instant } from '../timer/index.js'

export type { Instant } from '../timer/index.js'

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
