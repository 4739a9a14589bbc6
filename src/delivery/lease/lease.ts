import { checkOptions, checkWhole, InvalidInputError, shown } from '../../error/index.js'
import { type Duration, parseDuration } from '../../time/index.js'

export interface LeaseOptions {
  /** How long a worker has a firing to itself, unless it asks for another time. Default 30 s. */
  readonly duration?: Duration
  /** Firings that workers may have at once, in each instance. Default 10,000. */
  readonly concurrency?: number
}

/** Firings of a kind wait where they are due until a worker takes them, checked and complete. */
export interface LeaseTarget {
  readonly type: 'lease'
  readonly durationMs: number
  readonly concurrency: number
}

const SHORTEST_LEASE_MS = 1
const LONGEST_LEASE_MS = 12 * 3_600_000

const defaults = Object.freeze({ durationMs: 30_000, concurrency: 10_000 })

/** For workers that cannot be called: they ask for what is due, and answer for it. */
export function lease(options: LeaseOptions = {}): LeaseTarget {
  checkOptions('lease', options, ['duration', 'concurrency'])
  const { duration, concurrency = defaults.concurrency } = options
  checkWhole('concurrency', concurrency, 1)
  return Object.freeze({
    type: 'lease' as const,
    durationMs: duration === undefined ? defaults.durationMs : leaseMsOf('duration', duration),
    concurrency,
  })
}

/** How long a lease is to last, in whole milliseconds. */
export function leaseMsOf(what: string, duration: Duration): number {
  const ms = Math.ceil(parseDuration(duration))
  if (ms >= SHORTEST_LEASE_MS && ms <= LONGEST_LEASE_MS) return ms
  throw new InvalidInputError(
    'invalid-option',
    `${what} must be from ${SHORTEST_LEASE_MS} ms to ${LONGEST_LEASE_MS} ms (12 h), got ${shown(duration)}`,
  )
}
