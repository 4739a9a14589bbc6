import { InvalidInputError, LimitError } from '../../error/index.js'

/** Whether an error means that a row was refused as it is: sending it again would not help. */
export function isRefusal(error: unknown): boolean {
  return error instanceof InvalidInputError || error instanceof LimitError
}
