import { type ErrorCode, InvalidInputError, LimitError } from '../../error/index.js'

/** Nothing was done, and the same request may succeed later. */
const passing: ReadonlySet<ErrorCode> = new Set([
  'engine-busy',
  'not-done',
  'store-full',
  'store-unavailable',
])

/** Whether an error means that a row was refused as it is: sending it again would not help. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof LimitError) return !passing.has(error.code)
  return error instanceof InvalidInputError
}

/** Whether a code means that nothing was done, and that the same request may succeed later. */
export function isPassing(code: ErrorCode): boolean {
  return passing.has(code)
}
