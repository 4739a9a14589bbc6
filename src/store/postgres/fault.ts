import { CarillonError, type ErrorCode, InvalidInputError, StoreError } from '../../error/index.js'
import { refusals } from './schema-common.js'

// The words of the driver for a connection that it knew to be lost before it was asked to send anything.
const NEVER_SENT = 'not queryable'

/** How far a call had got when it failed. */
export type Progress = 'connecting' | 'reading' | 'writing'

interface DriverError extends Error {
  readonly code?: string
  readonly severity?: string
}

const byState: Readonly<Record<string, ErrorCode>> = {
  [refusals.fenced]: 'fenced',
  [refusals['inbox-first']]: 'inbox-first',
  [refusals['invalid-level']]: 'invalid-level',
  '25006': 'store-read-only',
  '28000': 'store-denied',
  '28P01': 'store-denied',
  '3D000': 'store-denied',
  '42501': 'store-denied',
  '53100': 'store-full',
  '3F000': 'store-damaged',
  '42P01': 'store-damaged',
  '42703': 'store-damaged',
  '42883': 'store-damaged',
  XX001: 'store-damaged',
  XX002: 'store-damaged',
}

const advice: Partial<Record<ErrorCode, string>> = {
  'store-denied': 'check user, password, database and rights',
}

/**
 * What a failure of the driver means. An error that the server reported for a statement has undone it; only when
 * the connection itself failed after a write was sent may the write have happened.
 */
export function faultOf(error: unknown, progress: Progress, call: string): Error {
  if (error instanceof CarillonError) return error
  if (!(error instanceof Error))
    return new StoreError('store-unavailable', `${call} failed: ${String(error)}`)
  const { code = '', severity, message } = error as DriverError
  if (code === refusals['invalid-option']) return new InvalidInputError('invalid-option', message)
  const isUndone = severity === 'ERROR'
  const known = byState[code]
  if (known !== undefined && (isUndone || progress === 'connecting')) {
    const hint = advice[known] === undefined ? '' : `: ${advice[known]}`
    return new StoreError(known, `${call}: ${message}${hint}`, { cause: error })
  }
  if (!isUndone && progress === 'writing' && !message.includes(NEVER_SENT)) {
    return new StoreError(
      'unknown-outcome',
      `${call} was sent and not answered, it may have happened: ${message}`,
      { cause: error },
    )
  }
  return new StoreError('store-unavailable', `${call} did not happen: ${message || code}`, { cause: error })
}

/** Whether the server undid a statement only because it met another: it may simply be sent again. */
export function isCollision(error: unknown): boolean {
  const { code } = error as DriverError
  return code === '40P01' || code === '40001'
}

/** Whether the connection can go on after this error. */
export function isConnectionLost(error: unknown): boolean {
  return !(error instanceof CarillonError) && (error as DriverError).severity !== 'ERROR'
}
