import { InvalidInputError, shown } from '../error/index.js'
import { checkKey, checkTags } from '../timer/index.js'
import {
  checkCount,
  checkDetails,
  checkIdentity,
  checkPayloadBytes,
  checkScope,
  checkWholeInstant,
} from './check-set.js'
import { PlainWrite } from './plain-sets.js'
import type { Operation, OwnerWrite, Request, RequestedOperation, SetOperation } from './store.js'

/** Refuses a write with anything in it that no store should keep. Every store calls it before it begins. */
export function checkWrite(write: OwnerWrite, maxPayloadBytes: number): void {
  // Plain sets were looked at when they were put into columns.
  if (write instanceof PlainWrite && write.sets.maxPayloadBytes <= maxPayloadBytes) return
  checkOperations(write.operations, maxPayloadBytes)
}

function checkOperations(operations: readonly Operation[], maxPayloadBytes: number): void {
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

function checkRest(operation: RequestedOperation, maxPayloadBytes: number): void {
  checkKey(operation.key)
  if (operation.identity !== undefined) checkIdentity(operation.identity)
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
  checkPayloadBytes(set.key, set.payload.length, maxPayloadBytes)
  if (set.tags.length > 0) checkTags(set.tags)
  checkDetails(set.key, set.details)
  checkCount('attempt', set.attempt)
  checkCount('occurrence', set.occurrence)
}
