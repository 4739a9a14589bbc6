import { InvalidInputError, LimitError, shown } from '../error/index.js'
import { checkKey, checkKind, checkNamespace, checkTags, nameLimits } from '../timer/index.js'
import type { MoveOperation, Operation, Request, RequestedOperation, SetOperation } from './store.js'

// The last instant of ECMAScript's time; a position or due time beyond it is nobody's.
const LAST_INSTANT = 8.64e15

/** Refuses a batch with anything in it that no store should keep. Every store calls it before it begins. */
export function checkOperations(operations: readonly Operation[], maxPayloadBytes: number): void {
  // Most of a batch is of one kind: what was just found good is not looked at again.
  let namespace: string | undefined
  let kind: string | undefined
  for (const operation of operations) {
    if (operation.type === 'answer') continue
    if (operation.namespace !== namespace || operation.kind !== kind) checkScope(operation)
    namespace = operation.namespace
    kind = operation.kind
    checkRest(operation, maxPayloadBytes)
    if (operation.type !== 'cancel') checkWholeInstant('position', operation.position)
  }
}

/** Refuses requests with anything in them that no store should keep. */
export function checkRequests(requests: readonly Request[], maxPayloadBytes: number): void {
  for (const request of requests) {
    if (typeof request.id !== 'string' || request.id.length === 0 || request.id.length > 64) {
      throw new InvalidInputError(
        'invalid-timer',
        `a request's id must be a text of 1 to 64 characters, got ${shown(request.id)}`,
      )
    }
    checkWholeInstant('deadline', request.deadline)
    checkRequested(request.operation, maxPayloadBytes)
  }
}

/** Refuses an operation with anything in it that no store should keep. */
export function checkRequested(operation: RequestedOperation, maxPayloadBytes: number): void {
  checkScope(operation)
  checkRest(operation, maxPayloadBytes)
}

function checkScope(operation: RequestedOperation): void {
  checkNamespace(operation.namespace)
  checkKind(operation.kind)
}

function checkRest(operation: RequestedOperation, maxPayloadBytes: number): void {
  checkKey(operation.key)
  if (
    operation.identity !== undefined &&
    !(Number.isSafeInteger(operation.identity) && operation.identity > 0)
  ) {
    throw new InvalidInputError(
      'invalid-timer',
      `identity must be a whole number from 1 to 2^53 - 1, got ${shown(operation.identity)}`,
    )
  }
  if (operation.type === 'cancel') return
  checkWholeInstant('dueAt', operation.dueAt)
  if (operation.type === 'set') {
    checkContent(operation, maxPayloadBytes)
    return
  }
  if (operation.attempt !== undefined) checkCount('attempt', operation.attempt)
  if (operation.details !== undefined) checkDetails(operation.key, operation.details)
}

function checkContent(set: Omit<SetOperation, 'position'>, maxPayloadBytes: number): void {
  checkWholeInstant('createdAt', set.createdAt)
  if (!(set.payload instanceof Uint8Array)) {
    throw new InvalidInputError('invalid-timer', `payload must be a Uint8Array, got ${shown(set.payload)}`)
  }
  if (set.payload.length > maxPayloadBytes) {
    throw new LimitError(
      'payload-too-large',
      `the payload of ${shown(set.key)} has ${set.payload.length} bytes; this store takes ${maxPayloadBytes}`,
    )
  }
  if (set.tags.length > 0) checkTags(set.tags)
  checkDetails(set.key, set.details)
  checkCount('attempt', set.attempt)
  checkCount('occurrence', set.occurrence)
}

function checkDetails(key: string, details: string): void {
  // UTF-8 takes at most three bytes for a code unit.
  if (details.length * 3 <= nameLimits.detailsBytes) return
  if (Buffer.byteLength(details) <= nameLimits.detailsBytes) return
  throw new LimitError(
    'payload-too-large',
    `the details of ${shown(key)} have more than ${nameLimits.detailsBytes} bytes`,
  )
}

function checkCount(what: string, count: number): void {
  if (Number.isInteger(count) && count >= 0 && count <= 0xffff_ffff) return
  throw new InvalidInputError('invalid-timer', `${what} must be a whole number from 0, got ${shown(count)}`)
}

function checkWholeInstant(what: string, instant: MoveOperation['dueAt']): void {
  if (Number.isInteger(instant) && instant >= 0 && instant <= LAST_INSTANT) return
  throw new InvalidInputError(
    'invalid-timer',
    `${what} must be whole epoch milliseconds from 0 to ${LAST_INSTANT}, got ${shown(instant)}`,
  )
}
