import type { ErrorCode } from './code.js'

/**
 * The base class of every error that Carillon throws. `code` is stable and listed in docs/errors.md. The message says
 * what was given, what was expected and what to do.
 */
export abstract class CarillonError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.name = new.target.name
  }
}

/** An argument or option is invalid. Nothing was changed. */
export class InvalidInputError extends CarillonError {}

/** The call does not fit the state of the object, for example because it is stopped. */
export class StateError extends CarillonError {}

/** A documented limit was reached. Nothing was changed. */
export class LimitError extends CarillonError {}

/** A store did not do the call, or may not have done it. The code says which. */
export class StoreError extends CarillonError {}

/** A webhook message cannot be trusted, or could not be delivered. The code says why. */
export class WebhookError extends CarillonError {}

/** A server refused a request. The code says why. */
export class RequestError extends CarillonError {}
