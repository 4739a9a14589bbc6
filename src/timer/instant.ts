import { InvalidInputError, shown } from '../error/index.js'

/** An instant: epoch milliseconds, a `Date`, an ISO 8601 string with an offset, or a Temporal instant. */
export type Instant = number | Date | string | { readonly epochMilliseconds: number }

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
