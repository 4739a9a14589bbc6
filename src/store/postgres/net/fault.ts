import { CarillonError, type ErrorCode, InvalidInputError, StoreError } from '../../../error/index.js'
import type { PostgresClient } from './driver.js'
import { refusalStates } from '../schema/common.js'

// The driver's message if it knew that the connection was lost before it sent anything.
const NEVER_SENT = 'not queryable'
// How deep an ORM may wrap the server's error.
const MAX_CAUSES = 5

/** What a call was doing when it failed. */
export type Progress = 'connecting' | 'reading' | 'writing'

interface DriverError extends Error {
  /** An SQLSTATE if the server reported the error, else Node's error code or nothing. */
  readonly code?: string
  /** In the language of the server. Only errors that the server reported have it. */
  readonly severity?: string
}

/** What happened to a failed statement: the server undid it, or the connection was lost and nobody knows. */
type Effect = 'undone' | 'lost'

// SQLSTATEs that end the session, in any language: lost connections, shutdowns, session timeouts, refused sessions.
const SESSION_ENDING = /^(08|28|57P|25P0[34]|3D000|53300)/
// SQLSTATEs of a failed statement or of a server that goes down: disk full, out of memory, file errors, internal errors.
const AMBIGUOUS = /^(53|58|F0|XX|42501)/

/** The effect as far as the error alone shows it; undefined if only the connection can show it. */
function effectOf(error: unknown): Effect | undefined {
  const { code = '', severity } = error as DriverError
  if (severity === undefined) return 'lost'
  // The driver passes on only the localised severity. A known word is proof, an unknown one proves nothing.
  if (severity === 'ERROR') return 'undone'
  if (severity === 'FATAL' || severity === 'PANIC' || SESSION_ENDING.test(code)) return 'lost'
  return AMBIGUOUS.test(code) ? undefined : 'undone'
}

/**
 * Whether the connection was lost with this error. If the error alone does not show it, a query on the connection
 * does: a server that still answers has undone the statement.
 */
export async function isConnectionLost(error: unknown, client: PostgresClient): Promise<boolean> {
  if (error instanceof CarillonError) return false
  const effect = effectOf(error)
  if (effect !== undefined) return effect === 'lost'
  try {
    await client.query({ text: 'select 1' })
    return false
  } catch (refused) {
    // In a failed transaction, the server answers with an error.
    return effectOf(refused) !== 'undone'
  }
}

const codesByState: Readonly<Record<string, ErrorCode>> = {
  [refusalStates.fenced]: 'fenced',
  [refusalStates['inbox-first']]: 'inbox-first',
  [refusalStates['invalid-level']]: 'invalid-level',
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
  'store-denied': 'check the user, password, database and rights',
}

/**
 * Translates an error of the driver. If the server reported it and the connection goes on, the statement was undone.
 * A write may have happened only if its connection was lost after it was sent.
 *
 * Proven by test/store/postgres/fault.test.ts and test/store/postgres/other-languages.test.ts.
 */
export function faultOf(
  error: unknown,
  progress: Progress,
  call: string,
  isLost = effectOf(error) !== 'undone',
): Error {
  if (error instanceof CarillonError) return error
  if (!(error instanceof Error))
    return new StoreError('store-unavailable', `${call} failed: ${String(error)}`)
  const { code = '', message } = error as DriverError
  if (code === refusalStates['invalid-option']) return new InvalidInputError('invalid-option', message)
  const known = codesByState[code]
  if (known !== undefined && (!isLost || progress === 'connecting')) {
    const hint = advice[known] === undefined ? '' : `: ${advice[known]}`
    return new StoreError(known, `${call}: ${message}${hint}`, { cause: error })
  }
  if (isLost && progress === 'writing' && !message.includes(NEVER_SENT)) {
    return new StoreError(
      'unknown-outcome',
      `${call} was sent but not answered, so it may have happened: ${message}`,
      { cause: error },
    )
  }
  return new StoreError('store-unavailable', `${call} did not happen: ${message || code}`, { cause: error })
}

/** The server's error inside the error of an ORM, which most keep as the cause. */
export function serverErrorOf(error: unknown): unknown {
  let inner: unknown = error
  for (let depth = 0; depth < MAX_CAUSES && inner instanceof Error; depth++) {
    const { severity, cause, driverError } = inner as DriverError & { readonly driverError?: unknown }
    if (severity !== undefined) return inner
    inner = driverError ?? cause
  }
  return error
}

/** Whether the server undid a statement because of a concurrent one. It can be sent again as it is. */
export function isCollision(error: unknown): boolean {
  const { code } = error as DriverError
  return code === '40P01' || code === '40001'
}
