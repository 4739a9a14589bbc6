import { InvalidInputError, LimitError, shown } from '../../error/index.js'
import { checkKey, checkKind, checkNamespace, nameLimits } from '../../timer/index.js'
import type { MoveOperation, SetOperation } from '../store.js'

// The last instant that a JavaScript Date can represent.
const LAST_INSTANT = 8.64e15

export function checkScope(operation: Pick<SetOperation, 'namespace' | 'kind'>): void {
  checkNamespace(operation.namespace)
  checkKind(operation.kind)
}

/** Refuses an invalid plain set. Its payload is checked separately. */
export function checkPlainSet(
  scope: Pick<SetOperation, 'namespace' | 'kind' | 'createdAt'>,
  key: string,
  identity: number,
  dueAt: number,
): void {
  checkScope(scope)
  checkKey(key)
  checkIdentity(identity)
  checkIntegerInstant('dueAt', dueAt)
  checkIntegerInstant('createdAt', scope.createdAt)
}

export function checkIdentity(identity: number): void {
  if (Number.isSafeInteger(identity) && identity > 0) return
  throw new InvalidInputError(
    'invalid-timer',
    `identity must be an integer from 1 to 2^53 - 1, got ${shown(identity)}`,
  )
}

export function checkPayloadBytes(key: string, bytes: number, maxPayloadBytes: number): void {
  if (bytes <= maxPayloadBytes) return
  throw new LimitError(
    'payload-too-large',
    `the payload of ${shown(key)} has ${bytes} bytes; this store allows ${maxPayloadBytes}`,
  )
}

export function checkDetails(key: string, details: string): void {
  // A cheap check first: UTF-8 needs at most three bytes for a code unit.
  if (details.length * 3 <= nameLimits.detailsBytes) return
  if (Buffer.byteLength(details) <= nameLimits.detailsBytes) return
  throw new LimitError(
    'payload-too-large',
    `the details of ${shown(key)} have more than ${nameLimits.detailsBytes} bytes`,
  )
}

export function checkCount(what: string, count: number): void {
  if (Number.isInteger(count) && count >= 0 && count <= 0xffff_ffff) return
  throw new InvalidInputError(
    'invalid-timer',
    `${what} must be an integer from 0 to 2^32 - 1, got ${shown(count)}`,
  )
}

export function checkIntegerInstant(what: string, instant: MoveOperation['dueAt']): void {
  if (Number.isInteger(instant) && instant >= 0 && instant <= LAST_INSTANT) return
  throw new InvalidInputError(
    'invalid-timer',
    `${what} must be an integer of epoch milliseconds from 0 to ${LAST_INSTANT}, got ${shown(instant)}`,
  )
}
