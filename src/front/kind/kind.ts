import { checkOptions, checkRate, checkInteger, InvalidInputError, shown } from '../../error/index.js'
import { type Duration, parseDuration } from '../../time/index.js'
import { checkKind, parseRetry, type RetryOptions, type RetryPolicy } from '../../timer/index.js'
import type { StandardSchema } from './schema.js'

/** The options of a kind. */
export interface KindOptions<Payload, Input = Payload> {
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
  /**
   * Validates payloads when a timer is set, and again when it is delivered. If it transforms them, the store keeps what
   * was set, and the handler gets the result.
   */
  readonly payload?: StandardSchema<Payload, Input>
}

declare const payloadTypes: unique symbol

/** Marks a kind. A registered symbol, so that a kind from another copy of this package is accepted too. */
const kindMark: unique symbol = Symbol.for('carillon.kind')

/**
 * A kind of timer: which handler gets it, and the types of its payload. `set` takes an `Input`, and the handler gets a
 * `Payload`. They differ only if the kind has a schema with a transform.
 */
export interface TimerKind<out Payload, in Input = Payload> {
  readonly name: string
  readonly retry: RetryPolicy
  readonly concurrency: number | undefined
  readonly rate: number | undefined
  readonly timeoutMs: number
  readonly schema: StandardSchema<Payload, unknown> | undefined
  readonly [kindMark]: true
  /** The types of the payload; only for the compiler. */
  readonly [payloadTypes]?: { readonly output: Payload; readonly takes: (input: Input) => void }
}

/** A kind with any payload. Nothing can be set through it. */
export type UnknownKind = TimerKind<unknown, never>

/** A kind, or its name. */
export type AnyKind = UnknownKind | string

/** What the store keeps as the payload of a kind: what was set. */
export type StoredPayload<Kind extends UnknownKind> =
  Kind extends TimerKind<unknown, infer Input> ? Input : never

const optionNames = ['retry', 'concurrency', 'rate', 'timeout', 'payload']

/**
 * Makes a kind of timer. Kinds with the same name are the same kind, in every process.
 *
 * @example
 * ```ts
 * const remind = timer<{ orderId: string }>('remind', { retry: { attempts: 8, backoff: '1s..10m' } })
 * ```
 */
export function timer<Payload = undefined, Input = Payload>(
  name: string,
  options: KindOptions<Payload, Input> = {},
): TimerKind<Payload, Input> {
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
export function isKind(kind: unknown): kind is UnknownKind {
  return typeof kind === 'object' && kind !== null && kindMark in kind
}

/** Refuses what `timer()` did not make. */
export function checkKindMade(kind: unknown): void {
  if (isKind(kind)) return
  throw new InvalidInputError('unknown-kind', `expected a kind made by timer('name'), got ${shown(kind)}`)
}
