import type { LeasedFiring } from '../../delivery/index.js'
import type { Answer, PeerRequest } from '../../engine/index.js'
import {
  type CarillonError,
  type ErrorCode,
  InvalidInputError,
  LimitError,
  StateError,
  StoreError,
} from '../../error/index.js'
import type { RequestedOperation } from '../../store/index.js'
import type { Duration } from '../../time/index.js'
import type { ClusterSecret } from './cluster-secret.js'
import type { ViewName } from '../views/view-request.js'
import type { LeaseOutcome, LeaseAction, LeaseActionOn, LeaseResult } from './lease-action.js'

/** The route for messages between instances. */
export const PEER_PATH = '/peer'
export const PEER_TYPE = 'application/vnd.carillon.peer'
export const SIGNATURE = 'carillon-signature'
/** A signed header that is checked before the body, so that the server does not read a stranger's large body. */
export const PASS = 'carillon-pass'

/** A message from one instance to another. The whole text is signed. */
export interface PeerMessage {
  /** The receiving member. Another instance may have its address by now. */
  readonly to: string
  /** Unique. */
  readonly id: string
  /** By the store's clock. The receiver does not start the message after it. */
  readonly deadline: number
  readonly ask: OperationsRequest | LeaseActionRequest | TakeRequest | DueRequest | PeerViewRequest
}

export interface OperationsRequest {
  readonly type: 'operations'
  readonly shard: number
  readonly operations: readonly unknown[]
}

/** A worker's action on a lease that the receiving instance issued. Older instances read it under the name `word`. */
interface PeerLeaseAction {
  readonly receipt: string
  readonly word: LeaseAction
}

/** Actions on leases. An older instance does not know of `more`: it applies the first and replies without `more`. */
export interface LeaseActionRequest extends PeerLeaseAction {
  readonly type: 'lease'
  readonly namespace: string
  readonly more?: readonly PeerLeaseAction[]
}

/** Asks for firings of the receiver's shards, for a worker of the sender. */
export interface TakeRequest {
  readonly type: 'take'
  /** The sender, which gets a `DueRequest` if there were fewer than `max`, and one is due later. */
  readonly from: string
  readonly namespace: string
  readonly kinds: readonly string[]
  readonly max: number
  readonly duration?: Duration
}

/** Reports that the sender has a firing of this kind that no worker there waits for. */
export interface DueRequest {
  readonly type: 'due'
  readonly from: string
  readonly namespace: string
  readonly kind: string
}

/** Asks for the receiver's part of a view of the whole cluster. */
interface PeerViewRequest {
  readonly type: 'view'
  readonly view: ViewName
  /** What the view takes. */
  readonly asks: unknown
}

/** An error, as JSON. */
interface PeerProblem {
  readonly name: string
  readonly code: string
  readonly detail: string
}

/** The answer to a message, also signed. With only an id, nothing was done and nothing will be. */
export interface PeerReply {
  readonly id: string
  /** The answers to operations. */
  readonly answers?: readonly unknown[]
  /** The firings that a `TakeRequest` has leased. */
  readonly firings?: readonly LeasedFiring[]
  /** The receiver's part of a view. */
  readonly view?: unknown
  /** The message arrived before: a proxy may send it twice. Only the first reply has its outcome. */
  readonly isRepeated?: true
  /** The result of a worker's action: the outcome or the problem. */
  readonly outcome?: LeaseOutcome
  readonly problem?: PeerProblem
  /** The results of the actions in `more`. */
  readonly more?: readonly PeerLeaseResult[]
}

type PeerLeaseResult = Pick<PeerReply, 'outcome' | 'problem'>

/** The pass for a message to a member. It is valid until the deadline. */
export function passOf(secret: ClusterSecret, to: string, deadline: number): string {
  return `${deadline}.${secret.signatureOf('pass', `${to}.${deadline}`)}`
}

/** Whether a pass is for this member and still valid. */
export function isPass(secret: ClusterSecret, pass: unknown, to: string, now: number): boolean {
  const [, deadline = '', signature] = /^(\d{1,16})\.([\w-]+)$/.exec(String(pass)) ?? []
  return Number(deadline) > now && secret.isSigned('pass', `${to}.${deadline}`, signature)
}

export function operationsRequestOf({ shard, operations }: PeerRequest): OperationsRequest {
  return { type: 'operations', shard, operations: operations.map(encodeOperation) }
}

export function peerRequestOf({ shard, operations }: OperationsRequest, deadline: number): PeerRequest {
  return { shard, deadline, operations: operations.map(decodeOperation) }
}

export function leaseRequestOf(
  namespace: string,
  [first, ...others]: readonly [LeaseActionOn, ...LeaseActionOn[]],
): LeaseActionRequest {
  const encoded = ({ receipt, action }: LeaseActionOn): PeerLeaseAction => ({ receipt, word: action })
  const more = others.length === 0 ? {} : { more: others.map(encoded) }
  return { type: 'lease', namespace, ...encoded(first), ...more }
}

export function leaseActionsOf({ receipt, word, more = [] }: LeaseActionRequest): readonly LeaseActionOn[] {
  return [{ receipt, word }, ...more].map((each) => ({ receipt: each.receipt, action: each.word }))
}

/** The results of lease actions in a reply. */
export function leaseReplyOf([first, ...others]: readonly LeaseResult[]): Omit<PeerReply, 'id'> {
  const encoded = (result: LeaseResult): PeerLeaseResult =>
    'error' in result ? { problem: problemOf(result.error) } : { outcome: result.outcome }
  return { ...encoded(first!), ...(others.length > 0 && { more: others.map(encoded) }) }
}

/** The results in a reply: of all actions, or only of the first if an older instance has replied. */
export function leaseResultsOf({ outcome, problem, more = [] }: PeerReply): readonly LeaseResult[] {
  return [{ outcome, problem }, ...more].flatMap((each): LeaseResult[] => {
    if (each.problem !== undefined) return [{ error: errorOf(each.problem) }]
    return each.outcome === undefined ? [] : [{ outcome: each.outcome }]
  })
}

/** JSON has no byte arrays, so the payload becomes base64. */
function encodeOperation(operation: RequestedOperation): unknown {
  if (operation.type !== 'set') return operation
  return { ...operation, payload: Buffer.from(operation.payload).toString('base64') }
}

function decodeOperation(given: unknown): RequestedOperation {
  const operation = given as RequestedOperation & { readonly payload?: unknown }
  if (operation.type !== 'set') return operation
  return { ...operation, payload: Buffer.from(String(operation.payload), 'base64') }
}

export function encodeAnswer(answer: Answer): unknown {
  return answer.outcome === 'failed' ? { outcome: 'failed', ...problemOf(answer.error) } : answer
}

export function decodeAnswer(given: unknown): Answer {
  const { outcome } = given as { readonly outcome: Answer['outcome'] }
  if (outcome === 'failed') return { outcome, error: errorOf(given as PeerProblem) }
  // JSON omits undefined fields. Add them again, so that the object has the shape of `Answer`.
  if (outcome === 'set') return { revision: undefined, replaced: undefined, ...(given as object) } as Answer
  if (outcome === 'moved') return { revision: undefined, ...(given as object) } as Answer
  if (outcome === 'conflict') return { current: undefined, ...(given as object) } as Answer
  return given as Answer
}

function problemOf({ name, code, message }: CarillonError): PeerProblem {
  return { name, code, detail: message }
}

const classes = { InvalidInputError, LimitError, StateError }

function errorOf({ name, code, detail }: PeerProblem): CarillonError {
  return new (classes[name as keyof typeof classes] ?? StoreError)(code as ErrorCode, detail)
}
