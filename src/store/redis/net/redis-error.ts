import { CarillonError, StoreError } from '../../../error/index.js'

/** The meaning of an error reply's first word. With all of these, nothing was changed. */
const meanings: Readonly<
  Record<
    string,
    'fenced' | 'inbox-first' | 'invalid-level' | 'store-denied' | 'store-full' | 'store-unavailable'
  >
> = Object.freeze({
  FENCED: 'fenced',
  INBOX: 'inbox-first',
  LEVEL: 'invalid-level',
  NOAUTH: 'store-denied',
  WRONGPASS: 'store-denied',
  NOPERM: 'store-denied',
  OOM: 'store-full',
  BUSY: 'store-unavailable',
  CLUSTERDOWN: 'store-unavailable',
  LOADING: 'store-unavailable',
  MASTERDOWN: 'store-unavailable',
  MISCONF: 'store-unavailable',
  NOREPLICAS: 'store-unavailable',
  READONLY: 'store-unavailable',
  TRYAGAIN: 'store-unavailable',
  MOVED: 'store-unavailable',
})

/** The first word of an error reply. Empty for any other error. */
export function replyCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return /^([A-Z]{2,}) /.exec(error.message)?.[1] ?? ''
}

/** Whether a command was not sent because there was no connection. */
export function isUnsent(error: unknown): boolean {
  return nameOf(error) === 'ClientOfflineError' || nameOf(error) === 'ClientClosedError'
}

/** Translates an error of the driver into the error that the caller of the store gets. */
export function storeErrorOf(error: unknown, where: string): Error {
  if (error instanceof CarillonError) return error
  const text = error instanceof Error ? error.message : String(error)
  const meaning = meanings[replyCodeOf(error)]
  if (meaning === 'fenced' || meaning === 'inbox-first' || meaning === 'invalid-level') {
    return new StoreError(meaning, `${where}: ${text.slice(text.indexOf(' ') + 1)}`)
  }
  if (meaning !== undefined) {
    return new StoreError(meaning, `Redis refused a call (${where}): ${text}`, { cause: error })
  }
  if (isUnsent(error)) {
    return new StoreError('store-unavailable', `Redis is not connected (${where}): nothing was sent`, {
      cause: error,
    })
  }
  return new StoreError('unknown-outcome', `Redis did not answer a call (${where}): ${text}`, {
    cause: error,
  })
}

/** Translates a failure to connect. */
export function connectErrorOf(error: unknown, address: string): StoreError {
  const cause = error instanceof Error && 'originalError' in error ? error.originalError : error
  const text = cause instanceof Error ? cause.message || nameOf(cause) : String(cause)
  if (meanings[replyCodeOf(cause)] === 'store-denied') {
    return new StoreError('store-denied', `Redis at ${address} refused the user or password: ${text}`, {
      cause,
    })
  }
  const code = cause instanceof Error && 'code' in cause ? `${String(cause.code)} ` : ''
  return new StoreError('store-unavailable', `cannot reach Redis at ${address}: ${code}${text}`, { cause })
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.constructor.name : ''
}
