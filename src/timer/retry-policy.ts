import { checkOptions, checkWhole, InvalidInputError, shown } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'

export interface RetryOptions {
  /** Attempts in all, the first included. Default 10. */
  readonly attempts?: number
  /** The shortest and the longest pause between attempts, `'1s..10m'`: it doubles from one to the other. */
  readonly backoff?: string
  /** No attempt begins later than this after the due time. Default: no such limit. */
  readonly maxDuration?: Duration
}

/** When to try again, and when to give up. */
export interface RetryPolicy {
  readonly attempts: number
  readonly minMs: number
  readonly maxMs: number
  readonly maxDurationMs: number
}

export const defaultRetry: RetryPolicy = Object.freeze({
  attempts: 10,
  minMs: 1000,
  maxMs: 600_000,
  maxDurationMs: Infinity,
})

export function parseRetry(options: RetryOptions | undefined): RetryPolicy {
  if (options === undefined) return defaultRetry
  checkOptions('retry', options, ['attempts', 'backoff', 'maxDuration'])
  const { attempts = defaultRetry.attempts, backoff, maxDuration } = options
  checkWhole('retry.attempts', attempts, 1)
  const [minMs, maxMs] =
    backoff === undefined ? [defaultRetry.minMs, defaultRetry.maxMs] : parseBackoff(backoff)
  const maxDurationMs = maxDuration === undefined ? Infinity : parseDuration(maxDuration)
  return { attempts, minMs, maxMs, maxDurationMs }
}

/** The pause after an attempt: anything up to the doubled one, so that what failed together does not return together. */
export function retryDelayMs(policy: RetryPolicy, attempt: number, random: () => number): number {
  const longest = Math.min(policy.maxMs, policy.minMs * 2 ** Math.min(attempt - 1, 52))
  return Math.ceil(random() * longest)
}

function parseBackoff(backoff: string): [minMs: number, maxMs: number] {
  const parts = typeof backoff === 'string' ? backoff.split('..') : []
  const [min, max = min] = parts
  if (min === undefined || max === undefined || parts.length > 2) {
    throw new InvalidInputError(
      'invalid-option',
      `retry.backoff must be two durations such as '1s..10m', got ${shown(backoff)}`,
    )
  }
  const [minMs, maxMs] = [parseDuration(min), parseDuration(max)]
  if (minMs > maxMs) {
    throw new InvalidInputError('invalid-option', `retry.backoff must not fall: ${shown(backoff)}`)
  }
  return [minMs, maxMs]
}
