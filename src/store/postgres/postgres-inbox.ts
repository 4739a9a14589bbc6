import type { Fence, OperationAnswer, InboxRequest, RequestedOperation } from '../store.js'
import { EmptyInboxCheck } from './calls/empty-inbox-check.js'
import { arrayOf, sentArrays } from './codec/answer-row.js'
import { byteaArray, ArrayElements, int8Array, int8Values, textArray } from './codec/binary-array.js'
import { fenceParameters, placeholders } from './codec/parameters.js'
import type { Database } from './net/database.js'
import type { PostgresClient, Row } from './net/driver.js'
import { outcomes } from './schema/common.js'

type Appended = 'appended' | 'answered-before' | 'expired'

const appendAnswers: readonly Appended[] = ['appended', 'answered-before', 'expired']

const appendBy = (name: string): string =>
  `select ${sentArrays(['answers'])} from S.${name}(${placeholders(6)})`
const APPEND = appendBy('append')
const APPEND_WITH = appendBy('append_with')

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

  async append(requests: readonly InboxRequest[]): Promise<readonly Appended[]> {
    if (requests.length === 0) return []
    const [row] = await this.#database.write('append', APPEND, this.#parameters(requests))
    return appendedOf(row!)
  }

  /** Appends in the caller's transaction, on the caller's connection. The requests arrive when it commits. */
  async appendWith(client: PostgresClient, requests: readonly InboxRequest[]): Promise<readonly Appended[]> {
    if (requests.length === 0) return []
    const [row] = await this.#database.writeWith(client, 'append', APPEND_WITH, this.#parameters(requests))
    return appendedOf(row!)
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

  #parameters(requests: readonly InboxRequest[]): unknown[] {
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
  return Array.from(int8Values(arrayOf(row, 'answers')), (code) => appendAnswers[code]!)
}
