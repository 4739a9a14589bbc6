import type { Outcome, TimerName } from '../../timer/index.js'
import type { CancelOperation, MoveOperation, OperationAnswer, SetOperation } from './operation.js'
import type { HistoryNote } from './records.js'
import type { Fence } from './shards.js'
import type { TransactionConnection } from './transaction-connection.js'

/** The deadline of a request that never expires. Only `appendWith` takes it: its answer is kept nowhere. */
export const NO_DEADLINE = 8_640_000_000_000_000

/** What processes ask of a shard that they do not own. Appending needs no lock and no fence. */
export interface StoreInbox {
  /**
   * Adds requests and answers for each:
   *
   * - 'appended' once the request is durable, also when it was appended before;
   * - 'answered-before' when the owner has applied it already;
   * - 'expired' when its deadline has passed, or is not after the deadline of every request whose answer the shard has
   *   forgotten. The second condition keeps an id from being applied twice when the store's clock is set back.
   */
  append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]>
  /**
   * The same as a part of the caller's own transaction, given by its connection. The requests exist, and the owners are
   * woken, if and when the caller commits. A request with `NO_DEADLINE` is applied however late that is, and its answer is
   * not kept. Only stores with such transactions have this method.
   */
  appendWith?(
    transaction: TransactionConnection,
    requests: readonly InboxRequest[],
  ): Promise<readonly AppendAnswer[]>
  /** The oldest requests of the shard, in order of arrival. Reading does not remove them: operations do. */
  requests(fence: Fence, limit: number): Promise<readonly InboxRequest[]>
  /** The outcomes of requests, in the order of `ids`: undefined before the answer, and after the deadline. */
  answers(shard: number, ids: readonly string[]): Promise<readonly (OperationAnswer['outcome'] | undefined)[]>
  /**
   * Whether each set still waits, while no other set of its name does and no timer has its name. All of it is seen at
   * one moment. Then nothing of that name can start before the set is applied. A store may answer false if it is not
   * sure.
   */
  areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]>
  /**
   * Whether a set for each name waits, or a move or cancel of a caller's transaction. A store may answer true if it is not
   * sure.
   */
  areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]>
  /** The shards whose inbox is not empty. */
  busyInboxes(): Promise<readonly number[]>
}

/** What became of a request that was appended. */
export type AppendAnswer = 'appended' | 'answered-before' | 'expired'

/** What a process asks of a shard that it does not own. */
export interface InboxRequest<Asked = RequestedOperation | ReportOperation | BarrierOperation> {
  /** Chosen by the caller, so that a request that is sent twice is applied once. */
  readonly id: string
  readonly shard: number
  /** By the store's clock. After it a move or cancel is not applied, and the answer is forgotten. */
  readonly deadline: number
  readonly operation: Asked
}

/**
 * The result of an attempt that ran in another process: it was handed over with the shard, or offered to the process.
 * The owner settles it like an attempt of its own, if the row still records that this process holds the attempt.
 */
export interface ReportOperation extends TimerName {
  readonly type: 'report'
  readonly identity: number
  readonly occurrence: number
  readonly attempt: number
  /** The offer by which the process got the attempt; absent if the attempt was handed over. */
  readonly offer?: string
  readonly result: Outcome | { readonly type: 'unstarted' }
  /** For the timer's history. */
  readonly notes: readonly HistoryNote[]
}

/** Changes nothing. Its answer, 'unknown', shows that every earlier request of the inbox is applied. */
export interface BarrierOperation {
  readonly type: 'barrier'
}

/** An operation as its caller asks for it. The owner decides the position when it applies the request. */
export type RequestedOperation =
  | (Omit<SetOperation, 'position' | 'request'> & { readonly position?: number })
  | Omit<MoveOperation, 'position' | 'request'>
  | Omit<CancelOperation, 'request'>
