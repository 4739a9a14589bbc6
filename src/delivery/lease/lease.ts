import { checkOptions, checkInteger, InvalidInputError, shown } from '../../error/index.js'
import { type Duration, parseDuration } from '../../time/index.js'

/** How long a worker lease lasts, unless the worker asks for another time. */
export interface LeaseOptions {
  /** How long a worker lease lasts, unless the worker asks for another time. Default 30 s. */
  readonly duration?: Duration
  /** How many firings workers may have at once, in each instance. Default 10,000. */
  readonly concurrency?: number
}

/** Workers lease the firings of a kind: checked, with all defaults filled in. */
export interface LeaseTarget {
  readonly type: 'lease'
  readonly durationMs: number
  readonly concurrency: number
}

const MIN_LEASE_MS = 1
const MAX_LEASE_MS = 12 * 3_600_000

const defaults = Object.freeze({ durationMs: 30_000, concurrency: 10_000 })

/**
 * For workers that cannot be called: they ask for due firings, and report how they ended.
 *
 * @example
 * ```ts
 * timers.deliver(render, lease({ duration: '5m' }))
 * ```
 */
export function lease(options: LeaseOptions = {}): LeaseTarget {
  checkOptions('lease', options, ['duration', 'concurrency'])
  const { duration, concurrency = defaults.concurrency } = options
  checkInteger('concurrency', concurrency, 1)
  return Object.freeze({
    type: 'lease' as const,
    durationMs: duration === undefined ? defaults.durationMs : leaseMsOf('duration', duration),
    concurrency,
  })
}

/** The duration of a lease in whole milliseconds. */
export function leaseMsOf(what: string, duration: Duration): number {
  const ms = Math.ceil(parseDuration(duration))
  if (ms >= MIN_LEASE_MS && ms <= MAX_LEASE_MS) return ms
  throw new InvalidInputError(
    'invalid-option',
    `${what} must be from ${MIN_LEASE_MS} ms to ${MAX_LEASE_MS} ms (12 h), got ${shown(duration)}`,
  )
}
