import type { TimerName } from '../../timer/index.js'
import type {
  AppendAnswer,
  Fence,
  OperationAnswer,
  InboxRequest,
  RequestedOperation,
  TransactionConnection,
} from '../store.js'
import { InboxCalls } from './calls/inbox-calls.js'
import { InboxReads } from './calls/inbox-reads.js'
import { arrayOf } from './codec/answer-row.js'
import { int8Values } from './codec/binary-array.js'
import type { Database } from './net/database.js'

const BUSY = `select array_send(array_agg(s.shard::bigint)) as shards from S.shard s
  where exists (select 1 from S.inbox i where i.shard = s.shard)`

/**
 * The inboxes of the shards, and the answers to their requests.
 *
 * Proven by test/store/postgres/contract.test.ts and test/store/postgres/caller-transaction.test.ts.
 */
export class PostgresInbox {
  readonly #database: Database
  readonly #calls: InboxCalls
  readonly #reads: InboxReads

  constructor(database: Database, now: () => number | null, shardCount: number) {
    this.#database = database
    this.#calls = new InboxCalls(database, now, shardCount)
    this.#reads = new InboxReads(database)
  }

  append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]> {
    return this.#calls.append(requests)
  }

  /**
   * Appends in the caller's transaction, on the caller's connection. The requests arrive, and `channel` is notified of
   * their shards, when it commits.
   */
  appendWith(
    connection: TransactionConnection,
    requests: readonly InboxRequest[],
    channel: string,
  ): Promise<readonly AppendAnswer[]> {
    return this.#calls.appendWith(connection, requests, channel)
  }

  requests(fence: Fence, limit: number): Promise<readonly InboxRequest[]> {
    return this.#reads.read(fence, limit)
  }

  answers(
    shard: number,
    ids: readonly string[],
  ): Promise<readonly (OperationAnswer['outcome'] | undefined)[]> {
    return this.#calls.answers(shard, ids)
  }

  areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]> {
    return this.#calls.areFree(requests)
  }

  areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]> {
    return this.#calls.areWaiting(names)
  }

  async busyInboxes(): Promise<number[]> {
    const [row] = await this.#database.read('busyInboxes', BUSY, [])
    return Array.from(int8Values(arrayOf(row!, 'shards')))
  }
}
