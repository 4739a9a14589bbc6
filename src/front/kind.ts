import { checkOptions, checkRate, checkWhole, InvalidInputError, shown } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import { checkKind, parseRetry, type RetryOptions, type RetryPolicy } from '../timer/index.js'
import type { StandardSchema } from './schema.js'

export interface KindOptions<Payload> {
  readonly retry?: RetryOptions
  /** Attempts under way at once, in each instance. Default 1,000, and 50,000 for `handleMany`. */
  readonly concurrency?: number
  /** Attempts started per second, in each instance, `100` or `0.5`. Default: as many as come. */
  readonly rate?: number
  /** An attempt that takes longer has failed, and its signal is aborted. Default: no limit. */
  readonly timeout?: Duration
  /** Checks payloads when a timer is set and again when it is delivered. */
  readonly payload?: StandardSchema<Payload>
}

declare const payloadType: unique symbol

/** What a kind is known by, also one of another copy of this package. */
const kindMark: unique symbol = Symbol.for('carillon.kind')

/** A kind of timer: which handler gets it, and what it carries. */
export interface TimerKind<Payload> {
  readonly name: string
  readonly retry: RetryPolicy
  readonly concurrency: number | undefined
  readonly rate: number | undefined
  readonly timeoutMs: number
  readonly schema: StandardSchema<Payload> | undefined
  readonly [kindMark]: true
  /** Only for the compiler: the type of the payload. */
  readonly [payloadType]?: Payload
}

/** A kind, or its name. */
export type AnyKind = TimerKind<never> | TimerKind<unknown> | string

const known = ['retry', 'concurrency', 'rate', 'timeout', 'payload']

/** Names a kind of timer. Kinds of one name are one kind, in whichever process. */
export function timer<Payload = undefined>(
  name: string,
  options: KindOptions<Payload> = {},
): TimerKind<Payload> {
  checkKind(name)
  checkOptions(`timer(${shown(name)})`, options, known)
  const { concurrency, rate, timeout, payload } = options
  if (concurrency !== undefined) checkWhole('concurrency', concurrency, 1)
  checkRate(rate)
  if (payload !== undefined && typeof payload['~standard']?.validate !== 'function') {
    throw new InvalidInputError(
      'invalid-option',
      `payload must be a Standard Schema validator (zod, valibot, arktype, …), got ${shown(payload)}`,
    )
  }
  return Object.freeze({
    name,
    retry: parseRetry(options.retry),
    concurrency,
    rate,
    timeoutMs: timeout === undefined ? Infinity : parseDuration(timeout),
    schema: payload,
    [kindMark]: true as const,
  })
}

/** Whether `timer()` made it. */
export function isKind(kind: unknown): kind is TimerKind<unknown> {
  return typeof kind === 'object' && kind !== null && kindMark in kind
}
