import type { ErrorCode } from './code.js'

/**
 * The root of everything Carillon throws. `code` is stable and listed in docs/errors.md; the message says
 * what was got, what was wanted and what to do.
 */
export abstract class CarillonError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.name = new.target.name
  }
}

/** An argument or option that cannot be accepted; nothing was changed. */
export class InvalidInputError extends CarillonError {}

/** A call that does not fit the state of the object: stopped, or in the middle of something. */
export class StateError extends CarillonError {}

/** A stated limit was reached; nothing was changed. */
export class LimitError extends CarillonError {}

/** A store that did not, or may not have, done what it was asked; the code says which. */
export class StoreError extends CarillonError {}

/** A webhook that is not to be believed; the code says why. */
export class WebhookError extends CarillonError {}

/** A request that a server does not carry out; the code says why. */
export class RequestError extends CarillonError {}
