import { checkOptions, checkRate, checkInteger, InvalidInputError, shown } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import { checkKind, parseRetry, type RetryOptions, type RetryPolicy } from '../timer/index.js'
import type { StandardSchema } from './schema.js'

export interface KindOptions<Payload> {
  readonly retry?: RetryOptions
  /** Attempts at once, in each instance. Default 1,000, or 50,000 for `handleMany`. */
  readonly concurrency?: number
  /**
   * Attempts started per second, in each instance, such as `100` or `0.5`. A tenth of a second's worth, but at least one,
   * may start at once. Default: no limit.
   */
  readonly rate?: number
  /** A longer attempt fails, and its signal is aborted. Default: no limit. */
  readonly timeout?: Duration
  /** Validates payloads when a timer is set, and again when it is delivered. */
  readonly payload?: StandardSchema<Payload>
}

declare const payloadType: unique symbol

/** Marks a kind. A registered symbol, so that a kind from another copy of this package is accepted too. */
const kindMark: unique symbol = Symbol.for('carillon.kind')

/** A kind of timer: which handler gets it, and the type of its payload. */
export interface TimerKind<Payload> {
  readonly name: string
  readonly retry: RetryPolicy
  readonly concurrency: number | undefined
  readonly rate: number | undefined
  readonly timeoutMs: number
  readonly schema: StandardSchema<Payload> | undefined
  readonly [kindMark]: true
  /** The type of the payload; only for the compiler. */
  readonly [payloadType]?: Payload
}

/** A kind, or its name. */
export type AnyKind = TimerKind<never> | TimerKind<unknown> | string

const optionNames = ['retry', 'concurrency', 'rate', 'timeout', 'payload']

/** Makes a kind of timer. Kinds with the same name are the same kind, in every process. */
export function timer<Payload = undefined>(
  name: string,
  options: KindOptions<Payload> = {},
): TimerKind<Payload> {
  checkKind(name)
  checkOptions(`timer(${shown(name)})`, options, optionNames)
  const { concurrency, rate, timeout, payload } = options
  if (concurrency !== undefined) checkInteger('concurrency', concurrency, 1)
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

/** Refuses what `timer()` did not make. */
export function checkKindMade(kind: unknown): void {
  if (isKind(kind)) return
  throw new InvalidInputError('unknown-kind', `expected a kind made by timer('name'), got ${shown(kind)}`)
}
