import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { type Duration, parseDuration } from '../time/index.js'
import { checkKind, parseRetry, type RetryOptions, type RetryPolicy } from '../timer/index.js'

export interface KindOptions {
  readonly retry?: RetryOptions
  /** Attempts under way at once, in each instance. Default 1,000, and 50,000 for `handleMany`. */
  readonly concurrency?: number
  /** An attempt that takes longer has failed, and its signal is aborted. Default: no limit. */
  readonly timeout?: Duration
}

declare const payloadType: unique symbol

/** A kind of timer: which handler gets it, and what it carries. */
export interface TimerKind<Payload> {
  readonly name: string
  readonly retry: RetryPolicy
  readonly concurrency: number | undefined
  readonly timeoutMs: number
  /** Only for the compiler: the type of the payload. */
  readonly [payloadType]?: Payload
}

/** Names a kind of timer. Kinds of one name are one kind, in whichever process. */
export function timer<Payload = undefined>(name: string, options: KindOptions = {}): TimerKind<Payload> {
  checkKind(name)
  checkOptions(`timer(${shown(name)})`, options, ['retry', 'concurrency', 'timeout'])
  const { concurrency, timeout } = options
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new InvalidInputError(
      'invalid-option',
      `concurrency must be a whole number from 1, got ${shown(concurrency)}`,
    )
  }
  return Object.freeze({
    name,
    retry: parseRetry(options.retry),
    concurrency,
    timeoutMs: timeout === undefined ? Infinity : parseDuration(timeout),
  })
}
