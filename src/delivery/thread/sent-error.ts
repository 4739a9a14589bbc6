import { Dead, RetryAfter } from '../dead.js'

/** An error as it crosses between threads. A clone of an error would lose its class and its code. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: string | undefined
  readonly cause: SentError | undefined
  /** For the errors that decide what happens to the timer. */
  readonly decides?: 'dead' | { readonly retryAfterMs: number }
}

// A chain of causes may be a ring.
const MAX_CAUSES = 5

export function sentError(error: unknown, causes = MAX_CAUSES): SentError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), stack: undefined, code: undefined, cause: undefined }
  const { name, message, stack, cause } = error
  const isLast = cause === undefined || causes === 0
  return {
    name,
    message,
    stack,
    code: 'code' in error && typeof error.code === 'string' ? error.code : undefined,
    cause: isLast ? undefined : sentError(cause, causes - 1),
    ...(error instanceof Dead && { decides: 'dead' as const }),
    ...(error instanceof RetryAfter && { decides: { retryAfterMs: error.delayMs } }),
  }
}

/** The error on the other side, with the same class if it decides what happens to the timer. */
export function receivedError(sent: SentError): Error {
  const { name, message, stack, code } = sent
  const options = sent.cause === undefined ? {} : { cause: receivedError(sent.cause) }
  const error = errorOf(sent, message, options)
  if (error.name !== name) error.name = name
  if (stack !== undefined) error.stack = stack
  return code === undefined ? error : Object.assign(error, { code })
}

function errorOf({ decides }: SentError, message: string, options: ErrorOptions): Error {
  if (decides === undefined) return new Error(message, options)
  if (decides === 'dead') return new Dead(message, options)
  return new RetryAfter(decides.retryAfterMs, message, options)
}
