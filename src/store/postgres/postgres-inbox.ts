import type { Fence, OperationAnswer, Request, RequestedOperation } from '../store.js'
import { listOf, sent } from './answer-row.js'
import { byteaArray, ElementList, int8Array, int8s, textArray } from './binary-array.js'
import type { Database } from './database.js'
import type { PostgresClient, Row } from './driver.js'
import { EmptyInboxes } from './empty-inboxes.js'
import { outcomes } from './schema-common.js'

type Appended = 'appended' | 'answered-before' | 'expired'

const appendAnswers: readonly Appended[] = ['appended', 'answered-before', 'expired']

const APPEND = `select ${sent(['answers'])} from S.append($1, $2, $3, $4, $5, $6)`

const REQUESTS = `select ${sent(['ids', 'deadlines', 'operations', 'payloads'])}
  from S.requests($1, $2, $3, $4, $5, $6)`

/** The requests to shards, and what became of them. */
export class PostgresInbox {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #empty: EmptyInboxes
  // Shards in whose inbox something was at the last look: there is likely to be more.
  readonly #busy = new Set<number>()

  constructor(database: Database, now: () => number | null) {
    this.#database = database
    this.#now = now
    this.#empty = new EmptyInboxes(database)
  }

  async append(requests: readonly Request[]): Promise<readonly Appended[]> {
    if (requests.length === 0) return []
    const [row] = await this.#database.write('append', APPEND, this.#parameters(requests))
    return appendedOf(row!)
  }

  /** Appends as a part of the caller's transaction, by the caller's connection. */
  async appendWith(client: PostgresClient, requests: readonly Request[]): Promise<readonly Appended[]> {
    if (requests.length === 0) return []
    const [row] = await this.#database.writeWith(client, 'append', APPEND, this.#parameters(requests))
    return appendedOf(row!)
  }

  async requests(fence: Fence, fenceParameters: readonly unknown[], limit: number): Promise<Request[]> {
    const { shard } = fence
    if (!this.#busy.has(shard) && (await this.#empty.isEmpty(fence))) return []
    const [row] = await this.#database.read('requests', REQUESTS, [...fenceParameters, limit])
    const ids = new ElementList(listOf(row!, 'ids'))
    if (ids.length > 0) this.#busy.add(shard)
    else this.#busy.delete(shard)
    const deadlines = int8s(listOf(row!, 'deadlines'))
    const operations = new ElementList(listOf(row!, 'operations'))
    const payloads = new ElementList(listOf(row!, 'payloads'))
    return Array.from({ length: ids.length }, (_, i) => ({
      id: ids.text(i),
      shard,
      deadline: deadlines[i]!,
      operation: {
        ...(JSON.parse(operations.text(i)) as RequestedOperation),
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
    const codes = int8s(listOf(rows[0]!, 'outcomes'))
    for (const [i, number] of int8s(listOf(rows[0]!, 'numbers')).entries())
      answers[number - 1] = outcomes[codes[i]!]
    return answers
  }

  #parameters(requests: readonly Request[]): unknown[] {
    return [
      this.#now(),
      int8Array(requests, (request) => request.shard),
      textArray(requests, (request) => request.id),
      int8Array(requests, (request) => request.deadline),
      textArray(requests, ({ operation }) => JSON.stringify({ ...operation, payload: undefined })),
      byteaArray(requests, ({ operation }) => (operation.type === 'set' ? operation.payload : null)),
    ]
  }
}

function appendedOf(row: Row): Appended[] {
  return Array.from(int8s(listOf(row, 'answers')), (code) => appendAnswers[code]!)
}
