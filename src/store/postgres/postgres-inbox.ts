import { nameHash, shardOf, type TimerName } from '../../timer/index.js'
import { nameOfSet } from '../request-names.js'
import type {
  AppendAnswer,
  Fence,
  OperationAnswer,
  InboxRequest,
  RequestedOperation,
  TransactionConnection,
} from '../store.js'
import { EmptyInboxCheck } from './calls/empty-inbox-check.js'
import { arrayOf, sentArrays } from './codec/answer-row.js'
import { arrayText, byteaText } from './codec/array-text.js'
import { byteaArray, ArrayElements, int8Array, int8Values, textArray } from './codec/binary-array.js'
import { fenceParameters, placeholders } from './codec/parameters.js'
import type { Database } from './net/database.js'
import type { Row } from './net/driver.js'
import { outcomes } from './schema/common.js'

const appendAnswers: readonly AppendAnswer[] = ['appended', 'answered-before', 'expired']

// The hash of a request that is no set. Other hashes are not negative.
const NO_NAME = -1

const APPEND = `select ${sentArrays(['answers'])} from S.append(${placeholders(7)})`

// For connections of any driver: every parameter and every column is text.
const APPEND_WITH = `select array_to_string(a.answers, ',') as answers,
    (select count(pg_notify($8::text, w.shard::text)) from unnest($9::text::bigint[]) w(shard))::text as woken
  from S.append_with(nullif($1::text, '')::bigint, $2::text::bigint[], $3::text::text[], $4::text::bigint[],
    $5::text::text[], $6::text::bytea[], $7::text::bigint[]) a`

const ARE_FREE = `select ${sentArrays(['are_free'])} from S.are_free(${placeholders(6)})`
const ARE_WAITING = `select ${sentArrays(['are_waiting'])} from S.are_waiting(${placeholders(2)})`
const BUSY = `select array_send(array_agg(s.shard::bigint)) as shards from S.shard s
  where exists (select 1 from S.inbox i where i.shard = s.shard)`

const REQUESTS = `select ${sentArrays(['ids', 'deadlines', 'operations', 'payloads'])}
  from S.requests(${placeholders(6)})`

/**
 * The inboxes of the shards, and the answers to their requests.
 *
 * Proven by test/store/postgres/contract.test.ts and test/store/postgres/caller-transaction.test.ts.
 */
export class PostgresInbox {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #emptyCheck: EmptyInboxCheck
  // Shards whose inbox had requests at the last check. Likely it has more, so the check for empty ones is skipped.
  readonly #busy = new Set<number>()

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
    this.#emptyCheck = new EmptyInboxCheck(database)
  }

  async append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]> {
    if (requests.length === 0) return []
    const [row] = await this.#database.write('append', APPEND, this.#parameters(requests))
    return appendedOf(row!)
  }

  /**
   * Appends in the caller's transaction, on the caller's connection. The requests arrive, and `channel` is notified of their
   * shards, when it commits.
   */
  async appendWith(
    connection: TransactionConnection,
    requests: readonly InboxRequest[],
    channel: string,
  ): Promise<readonly AppendAnswer[]> {
    if (requests.length === 0) return []
    const rows = await this.#database.writeInTransaction(connection, 'append', APPEND_WITH, [
      String(this.#now() ?? ''),
      arrayText(requests, ({ shard }) => String(shard)),
      arrayText(requests, ({ id }) => id),
      arrayText(requests, ({ deadline }) => String(deadline)),
      arrayText(requests, textOf),
      arrayText(requests, ({ operation }) =>
        operation.type === 'set' ? byteaText(operation.payload) : null,
      ),
      arrayText(requests, ({ operation }) => String('key' in operation ? nameHash(operation) : NO_NAME)),
      channel,
      arrayText([...new Set(requests.map(({ shard }) => shard))], String),
    ])
    const answers = String(rows[0]?.['answers']).split(',')
    return answers.map((code) => appendAnswers[Number(code)]!)
  }

  async requests(fence: Fence, limit: number): Promise<InboxRequest[]> {
    const { shard } = fence
    if (!this.#busy.has(shard) && (await this.#emptyCheck.isEmpty(fence))) return []
    const [row] = await this.#database.read('requests', REQUESTS, [...fenceParameters(fence), limit])
    const ids = new ArrayElements(arrayOf(row!, 'ids'))
    if (ids.length > 0) this.#busy.add(shard)
    else this.#busy.delete(shard)
    const deadlines = int8Values(arrayOf(row!, 'deadlines'))
    const operations = new ArrayElements(arrayOf(row!, 'operations'))
    const payloads = new ArrayElements(arrayOf(row!, 'payloads'))
    return Array.from({ length: ids.length }, (_, i) => ({
      id: ids.string(i),
      shard,
      deadline: deadlines[i]!,
      operation: {
        ...(JSON.parse(operations.string(i)) as RequestedOperation),
        ...(payloads.isNull(i) ? {} : { payload: payloads.bytes(i) }),
      } as RequestedOperation,
    }))
  }

  async answers(shard: number, ids: readonly string[]): Promise<(OperationAnswer['outcome'] | undefined)[]> {
    const rows = await this.#database.read(
      'answers',
      `select array_send(array_agg(r.n)) as numbers, array_send(array_agg(a.outcome::bigint)) as outcomes
      from unnest($2::text[]) with ordinality as r(id, n)
      cross join lateral (
        select a.outcome from S.answer a where a.id = r.id and a.shard + 0 = $1 and a.deadline + 0 > S.now_ms($3::bigint) offset 0
      ) a`,
      [shard, textArray(ids, (id) => id), this.#now()],
    )
    const answers = new Array<OperationAnswer['outcome'] | undefined>(ids.length).fill(undefined)
    const codes = int8Values(arrayOf(rows[0]!, 'outcomes'))
    for (const [i, number] of int8Values(arrayOf(rows[0]!, 'numbers')).entries())
      answers[number - 1] = outcomes[codes[i]!]
    return answers
  }

  async areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<boolean[]> {
    if (requests.length === 0) return []
    const [row] = await this.#database.read('areFree', ARE_FREE, [
      int8Array(requests, ({ shard }) => shard),
      textArray(requests, ({ id }) => id),
      int8Array(requests, ({ operation }) => nameHash(operation)),
      textArray(requests, ({ operation }) => operation.namespace),
      textArray(requests, ({ operation }) => operation.kind),
      textArray(requests, ({ operation }) => operation.key),
    ])
    return Array.from(int8Values(arrayOf(row!, 'are_free')), (flag) => flag === 1)
  }

  async areWaiting(names: readonly TimerName[], shardCount: number): Promise<boolean[]> {
    if (names.length === 0) return []
    const [row] = await this.#database.read('areWaiting', ARE_WAITING, [
      int8Array(names, (name) => shardOf(name, shardCount)),
      int8Array(names, nameHash),
    ])
    return Array.from(int8Values(arrayOf(row!, 'are_waiting')), (flag) => flag === 1)
  }

  async busyInboxes(): Promise<number[]> {
    const [row] = await this.#database.read('busyInboxes', BUSY, [])
    return Array.from(int8Values(arrayOf(row!, 'shards')))
  }

  #parameters(requests: readonly InboxRequest[]): unknown[] {
    return [
      this.#now(),
      int8Array(requests, (request) => request.shard),
      textArray(requests, (request) => request.id),
      int8Array(requests, (request) => request.deadline),
      textArray(requests, textOf),
      byteaArray(requests, ({ operation }) => (operation.type === 'set' ? operation.payload : null)),
      int8Array(requests, hashOf),
    ]
  }
}

/** The operation without its payload, which has a column of its own. */
function textOf({ operation }: InboxRequest): string {
  return JSON.stringify({ ...operation, payload: undefined })
}

/** The hash of the name that a set is about. No name has the hash of another request. */
function hashOf(request: InboxRequest): number {
  const name = nameOfSet(request)
  return name === undefined ? NO_NAME : nameHash(name)
}

function appendedOf(row: Row): AppendAnswer[] {
  return Array.from(int8Values(arrayOf(row, 'answers')), (code) => appendAnswers[code]!)
}
