import { checkOptions, checkRate, checkInteger, InvalidInputError, shown } from '../../error/index.js'
import { type Duration, parseDuration } from '../../time/index.js'
import { parseSecrets, type Secret } from '../../webhooks/index.js'
import type { BatchPolicy } from './batches.js'
import type { BreakerPolicy } from './breaker.js'
import { Guard, type GuardOptions } from './guard.js'

/** The options of `webhook`. */
export interface WebhookOptions {
  /** `whsec_…`. Pass several while one replaces another: a message carries a signature for each. */
  readonly secret: string | readonly string[]
  /** Sent with every message, in addition to the signature headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long the target may take until its answer is complete. Default 30 s. */
  readonly timeout?: Duration
  /** Messages under way at once, in each instance. Default 64. */
  readonly concurrency?: number
  /** Messages started per second, in each instance. Default: no limit. */
  readonly rate?: number
  /** How many messages on one connection may wait for their answers. Default 1. */
  readonly pipelining?: number
  /** How many bytes of an answer are read. Default 64 kB. */
  readonly maxAnswerBytes?: number
  /** When to stop sending to a target that fails. `false`: never. Default: 10 failures in a row, for 30 s. */
  readonly breaker?:
    { readonly failures?: number; readonly pause?: Duration; readonly maxPause?: Duration } | false
  /**
   * Sends several firings in one message: up to `most` (1,000 at most) that are due at the same moment, or within
   * `wait` (default 0). Default: each in a message of its own.
   */
  readonly batch?: { readonly most: number; readonly wait?: Duration }
  /** Allows only public addresses, with exceptions. Default: every address is allowed. */
  readonly guard?: GuardOptions
}

/** The URL for the timers of a kind: checked, with all defaults. It can be printed: its secrets do not show. */
export interface Webhook {
  readonly type: 'webhook'
  readonly origin: string
  readonly path: string
  readonly secrets: readonly Secret[]
  /** Secrets that were replaced. Each signs until its time. */
  readonly earlier?: readonly { readonly secret: Secret; readonly until: number }[]
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly concurrency: number
  readonly rate: number | undefined
  readonly pipelining: number
  readonly maxAnswerBytes: number
  readonly breaker: BreakerPolicy | undefined
  readonly batch: BatchPolicy | undefined
  readonly guard: Guard | undefined
}

const known = [
  'secret',
  'headers',
  'timeout',
  'concurrency',
  'rate',
  'pipelining',
  'maxAnswerBytes',
  'breaker',
  'batch',
  'guard',
]

const MAX_IN_BATCH = 1000

const defaults = Object.freeze({
  timeoutMs: 30_000,
  concurrency: 64,
  pipelining: 1,
  maxAnswerBytes: 65_536,
  failures: 10,
  pauseMs: 30_000,
  maxPauseMs: 600_000,
})

/** Headers of the message itself: setting them would break it. */
const ours =
  /^(?:webhook-.*|carillon-.*|content-type|content-length|host|connection|transfer-encoding|expect|upgrade)$/i

/**
 * A URL that gets the timers of a kind by POST, signed according to Standard Webhooks.
 *
 * @example
 * ```ts
 * timers.deliver(remind, webhook('https://example.org/timers', { secret: process.env.WEBHOOK_SECRET }))
 * ```
 */
export function webhook(url: string | URL, options: WebhookOptions): Webhook {
  checkOptions('webhook', options, known)
  const { headers = {}, rate, breaker = {} } = options
  const guard = options.guard === undefined ? undefined : new Guard(options.guard)
  const target = parseUrl(url)
  guard?.checkUrl(target)
  checkHeaders(headers)
  checkRate(rate)
  return Object.freeze({
    type: 'webhook' as const,
    origin: target.origin,
    path: target.pathname + target.search,
    secrets: parseSecrets(options.secret),
    headers: Object.freeze({ ...headers }),
    timeoutMs: durationOf(options.timeout, defaults.timeoutMs),
    concurrency: countOf('concurrency', options.concurrency, defaults.concurrency),
    rate,
    pipelining: countOf('pipelining', options.pipelining, defaults.pipelining),
    maxAnswerBytes: countOf('maxAnswerBytes', options.maxAnswerBytes, defaults.maxAnswerBytes),
    breaker: breaker === false ? undefined : breakerPolicy(breaker),
    batch: options.batch && batchPolicy(options.batch),
    guard,
  })
}

/** The same webhook under a guard, unless it has one already. */
export function guarded(target: Webhook, guard: Guard): Webhook {
  if (target.guard !== undefined) return target
  guard.checkUrl(new URL(target.origin))
  return Object.freeze({ ...target, guard })
}

function parseUrl(url: string | URL): URL {
  let target: URL
  try {
    target = new URL(url)
  } catch (error) {
    throw new InvalidInputError(
      'invalid-url',
      'the URL of a webhook must be absolute, for example https://example.org/timers',
      {
        cause: error,
      },
    )
  }
  if (target.protocol !== 'https:' && target.protocol !== 'http:')
    throw new InvalidInputError(
      'refused-url',
      `the URL of a webhook must begin with https:// or http://, got ${shown(target.protocol)}`,
    )
  if (target.username !== '' || target.password !== '')
    throw new InvalidInputError('refused-url', 'a URL of a webhook must not carry a user or a password')
  return target
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw new InvalidInputError(
      'invalid-option',
      `headers must be an object of strings, got ${shown(headers)}`,
    )
  for (const [name, value] of Object.entries(headers)) {
    const isRight =
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) && typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value)
    if (!isRight)
      throw new InvalidInputError(
        'invalid-option',
        `the header ${shown(name)} has characters that HTTP does not allow in its name or value`,
      )
    if (ours.test(name))
      throw new InvalidInputError(
        'invalid-option',
        `Carillon sets the header ${shown(name)} itself: remove it`,
      )
  }
}

function breakerPolicy(breaker: Exclude<WebhookOptions['breaker'], false | undefined>): BreakerPolicy {
  checkOptions('breaker', breaker, ['failures', 'pause', 'maxPause'])
  return {
    failures: countOf('failures', breaker.failures, defaults.failures),
    pauseMs: durationOf(breaker.pause, defaults.pauseMs),
    maxPauseMs: durationOf(breaker.maxPause, defaults.maxPauseMs),
  }
}

function batchPolicy(batch: NonNullable<WebhookOptions['batch']>): BatchPolicy {
  checkOptions('batch', batch, ['most', 'wait'])
  checkInteger('batch.most', batch.most, 1, MAX_IN_BATCH)
  return { most: batch.most, waitMs: batch.wait === undefined ? 0 : parseDuration(batch.wait) }
}

function durationOf(duration: Duration | undefined, otherwise: number): number {
  return duration === undefined ? otherwise : Math.max(1, Math.ceil(parseDuration(duration)))
}

function countOf(name: string, count: number | undefined, otherwise: number): number {
  if (count === undefined) return otherwise
  checkInteger(name, count, 1)
  return count
}
