import { InvalidInputError, shown } from '../../error/index.js'
import { checkKey, checkTags } from '../../timer/index.js'
import {
  checkCount,
  checkDetails,
  checkIdentity,
  checkPayloadBytes,
  checkScope,
  checkIntegerInstant,
} from './check-set.js'
import { SetColumnsWrite } from '../set-columns.js'
import type {
  Operation,
  OwnerWrite,
  ReportOperation,
  InboxRequest,
  RequestedOperation,
  SetOperation,
} from '../store.js'

/** Refuses a write with an invalid operation. Every store calls it before it changes anything. */
export function checkWrite(write: OwnerWrite, maxPayloadBytes: number): void {
  // `SetColumns.add` has checked plain sets already.
  if (write instanceof SetColumnsWrite && write.sets.maxPayloadBytes <= maxPayloadBytes) return
  checkOperations(write.operations, maxPayloadBytes)
}

function checkOperations(operations: readonly Operation[], maxPayloadBytes: number): void {
  // Most operations of a batch have the same kind: it is checked once.
  let namespace: string | undefined
  let kind: string | undefined
  for (const operation of operations) {
    if (operation.type === 'answer') continue
    if (operation.namespace !== namespace || operation.kind !== kind) checkScope(operation)
    namespace = operation.namespace
    kind = operation.kind
    // A request was accepted by the process that appended it, whose limit may be higher. It may have been acknowledged.
    checkRest(operation, operation.request === undefined ? maxPayloadBytes : Infinity)
    if (operation.type !== 'cancel') checkIntegerInstant('position', operation.position)
  }
}

/** Refuses invalid requests. */
export function checkRequests(requests: readonly InboxRequest[], maxPayloadBytes: number): void {
  for (const request of requests) {
    if (typeof request.id !== 'string' || request.id.length === 0 || request.id.length > 64) {
      throw new InvalidInputError(
        'invalid-timer',
        `the id of a request must be a string of 1 to 64 characters, got ${shown(request.id)}`,
      )
    }
    checkIntegerInstant('deadline', request.deadline)
    if (request.operation.type === 'barrier') continue
    if (request.operation.type === 'report') checkReport(request.operation)
    else checkRequested(request.operation, maxPayloadBytes)
  }
}

function checkReport(report: ReportOperation): void {
  checkScope(report)
  checkKey(report.key)
  checkIdentity(report.identity)
  checkCount('attempt', report.attempt)
  checkCount('occurrence', report.occurrence)
}

/** Refuses an invalid operation. */
export function checkRequested(operation: RequestedOperation, maxPayloadBytes: number): void {
  checkScope(operation)
  checkRest(operation, maxPayloadBytes)
}

function checkRest(operation: RequestedOperation, maxPayloadBytes: number): void {
  checkKey(operation.key)
  if (operation.identity !== undefined) checkIdentity(operation.identity)
  if (operation.type === 'cancel') return
  checkIntegerInstant('dueAt', operation.dueAt)
  if (operation.type === 'set') {
    checkContent(operation, maxPayloadBytes)
    return
  }
  if (operation.attempt !== undefined) checkCount('attempt', operation.attempt)
  if (operation.details !== undefined) checkDetails(operation.key, operation.details)
}

function checkContent(set: Omit<SetOperation, 'position'>, maxPayloadBytes: number): void {
  checkIntegerInstant('createdAt', set.createdAt)
  if (!(set.payload instanceof Uint8Array)) {
    throw new InvalidInputError('invalid-timer', `payload must be a Uint8Array, got ${shown(set.payload)}`)
  }
  checkPayloadBytes(set.key, set.payload.length, maxPayloadBytes)
  if (set.tags.length > 0) checkTags(set.tags)
  checkDetails(set.key, set.details)
  checkCount('attempt', set.attempt)
  checkCount('occurrence', set.occurrence)
}
