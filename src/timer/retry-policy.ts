import { checkOptions, checkInteger, InvalidInputError, shown } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'

/** How often and when a failed attempt is tried again. */
export interface RetryOptions {
  /** The number of attempts, including the first. Default 26. */
  readonly attempts?: number
  /**
   * The shortest and the longest delay between attempts, such as `'1s..10m'`. The first delay is random, between the
   * shortest and twice that. Both ends double with each attempt, up to the longest. Default `'1s..4h'`; by default a recurring timer
   * is also retried when its next occurrence is due, if that is earlier.
   */
  readonly backoff?: string
  /** No attempt starts later than this after the due time. Default: no limit. */
  readonly maxDuration?: Duration
}

/** When to retry, and when to give up. */
export interface RetryPolicy {
  readonly attempts: number
  readonly minMs: number
  readonly maxMs: number
  readonly maxDurationMs: number
  /** Whether a delay ends when the next occurrence of the schedule is due. Not if the delays were chosen by the user. */
  readonly isCutByNext: boolean
}

/** Retries for 26 to 53 hours: see docs/decisions/2026-11-18-a-day-of-retries.md. */
export const defaultRetry: RetryPolicy = Object.freeze({
  attempts: 26,
  minMs: 1000,
  maxMs: 4 * 3_600_000,
  maxDurationMs: Infinity,
  isCutByNext: true,
})

export function parseRetry(options: RetryOptions | undefined): RetryPolicy {
  if (options === undefined) return defaultRetry
  checkOptions('retry', options, ['attempts', 'backoff', 'maxDuration'])
  const { attempts = defaultRetry.attempts, backoff, maxDuration } = options
  checkInteger('retry.attempts', attempts, 1)
  const [minMs, maxMs] =
    backoff === undefined ? [defaultRetry.minMs, defaultRetry.maxMs] : parseBackoff(backoff)
  const maxDurationMs = maxDuration === undefined ? Infinity : parseDuration(maxDuration)
  return { attempts, minMs, maxMs, maxDurationMs, isCutByNext: backoff === undefined }
}

export function isSameRetry(a: RetryPolicy, b: RetryPolicy): boolean {
  return (
    a.attempts === b.attempts &&
    a.minMs === b.minMs &&
    a.maxMs === b.maxMs &&
    a.isCutByNext === b.isCutByNext &&
    a.maxDurationMs === b.maxDurationMs
  )
}

/**
 * The delay after an attempt: random, so that timers that failed together spread out, but at least half of its limit, so
 * that the attempts are not used up in a short time. Never shorter than the policy says.
 */
export function retryDelayMs(policy: RetryPolicy, attempt: number, random: () => number): number {
  const limit = Math.min(policy.maxMs, policy.minMs * 2 ** Math.min(attempt, 52))
  const shortest = Math.max(policy.minMs, limit / 2)
  return Math.ceil(shortest + random() * (limit - shortest))
}

function parseBackoff(backoff: string): [minMs: number, maxMs: number] {
  const parts = typeof backoff === 'string' ? backoff.split('..') : []
  const [min, max = min] = parts
  if (min === undefined || max === undefined || parts.length > 2) {
    throw new InvalidInputError(
      'invalid-option',
      `retry.backoff must be a range of durations such as '1s..10m', got ${shown(backoff)}`,
    )
  }
  const [minMs, maxMs] = [parseDuration(min), parseDuration(max)]
  if (minMs > maxMs) {
    throw new InvalidInputError(
      'invalid-option',
      `retry.backoff must begin with the shorter duration, got ${shown(backoff)}`,
    )
  }
  return [minMs, maxMs]
}
