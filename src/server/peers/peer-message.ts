import type { Answer, PeerAsk } from '../../engine/index.js'
import {
  type CarillonError,
  type ErrorCode,
  InvalidInputError,
  LimitError,
  StateError,
  StoreError,
} from '../../error/index.js'
import type { RequestedOperation } from '../../store/index.js'
import type { ClusterSecret } from './cluster-secret.js'
import type { LeaseOutcome, LeaseWord } from './lease-word.js'

/** Where instances ask each other. */
export const PEER_PATH = '/peer'
export const PEER_TYPE = 'application/vnd.carillon.peer'
export const SIGNATURE = 'carillon-signature'
/** Comes before the message, which is large, so that nothing of a stranger's is read. */
export const PASS = 'carillon-pass'

/** What one instance asks another; it is signed as a whole. */
export interface PeerMessage {
  /** The member that is meant: its address may be another's by now. */
  readonly to: string
  /** Never twice. */
  readonly id: string
  /** By the store's clock: it is begun before that, or never. */
  readonly deadline: number
  readonly ask: OperationsAsk | LeaseAsk
}

export interface OperationsAsk {
  readonly type: 'operations'
  readonly shard: number
  readonly operations: readonly unknown[]
}

/** A worker's word for a lease that the other instance gave. */
export interface LeaseAsk {
  readonly type: 'lease'
  readonly namespace: string
  readonly receipt: string
  readonly word: LeaseWord
}

/** Why something was not done. */
export interface PeerProblem {
  readonly name: string
  readonly code: string
  readonly detail: string
}

/** The answer to a message, signed as well. */
export interface PeerReply {
  readonly id: string
  /** To operations. With nothing beside the id, nothing was done, and nothing will be. */
  readonly answers?: readonly unknown[]
  /** The message had come before, as a proxy may send it again: what became of it was answered then. */
  readonly isRepeated?: true
  /** To a worker's word. */
  readonly outcome?: LeaseOutcome
  readonly problem?: PeerProblem
}

/** What lets a message to a member in, until its deadline. */
export function passOf(secret: ClusterSecret, to: string, deadline: number): string {
  return `${deadline}.${secret.signatureOf('pass', `${to}.${deadline}`)}`
}

/** Whether a pass is for this member, and good still. */
export function isPass(secret: ClusterSecret, pass: unknown, to: string, now: number): boolean {
  const [, deadline = '', signature] = /^(\d{1,16})\.([\w-]+)$/.exec(String(pass)) ?? []
  return Number(deadline) > now && secret.isSigned('pass', `${to}.${deadline}`, signature)
}

export function operationsAskOf({ shard, operations }: PeerAsk): OperationsAsk {
  return { type: 'operations', shard, operations: operations.map(encodeOperation) }
}

export function peerAskOf({ shard, operations }: OperationsAsk, deadline: number): PeerAsk {
  return { shard, deadline, operations: operations.map(decodeOperation) }
}

/** JSON has no bytes. */
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
  // What JSON leaves out is undefined in ours.
  if (outcome === 'set') return { revision: undefined, replaced: undefined, ...(given as object) } as Answer
  if (outcome === 'moved') return { revision: undefined, ...(given as object) } as Answer
  if (outcome === 'conflict') return { standing: undefined, ...(given as object) } as Answer
  return given as Answer
}

export function problemOf({ name, code, message }: CarillonError): PeerProblem {
  return { name, code, detail: message }
}

const classes = { InvalidInputError, LimitError, StateError }

export function errorOf({ name, code, detail }: PeerProblem): CarillonError {
  return new (classes[name as keyof typeof classes] ?? StoreError)(code as ErrorCode, detail)
}
