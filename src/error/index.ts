/** The errors that every folder may throw. This folder imports no other, and all others may import it. */
export {
  CarillonError,
  InvalidInputError,
  LimitError,
  RequestError,
  StateError,
  StoreError,
  WebhookError,
} from './carillon-error.js'
export { errorCodes, type ErrorCode } from './code.js'
export { errorOf } from './error-of.js'
export { PartialError, type PartialRow } from './partial-error.js'
export { checkInstant } from './instant.js'
export { checkFunction, checkOptions, checkRate, checkInteger } from './option.js'
export { shown, shownUrl, withoutPassword } from './shown.js'
