import { nameHash, shardOf, type TimerName } from '../../../timer/index.js'
import { nameOfSet } from '../../request-names.js'
import type {
  AppendAnswer,
  InboxRequest,
  OperationAnswer,
  RequestedOperation,
  TransactionConnection,
} from '../../store.js'
import { arrayOf, sentArrays } from '../codec/answer-row.js'
import { arrayText, byteaText } from '../codec/array-text.js'
import { byteaArray, int8Array, int8Values, textArray } from '../codec/binary-array.js'
import { placeholders } from '../codec/parameters.js'
import { MAX_INBOX_STATEMENTS, MAX_NAMES, MAX_WRITE_BYTES, OPERATION_BYTES } from '../defaults.js'
import type { Database } from '../net/database.js'
import type { Row } from '../net/driver.js'
import { outcomes } from '../schema/common.js'
import { CallCoalescer } from './call-coalescer.js'

type Outcome = OperationAnswer['outcome']

interface AnswersCall {
  readonly shard: number
  readonly ids: readonly string[]
}

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

const ANSWERS = `select array_send(array_agg(r.n)) as numbers, array_send(array_agg(a.outcome::bigint)) as outcomes
  from unnest($1::bigint[], $2::text[]) with ordinality as r(shard, id, n)
  cross join lateral (
    select a.outcome from S.answer a where a.id = r.id and a.shard + 0 = r.shard and a.deadline + 0 > S.now_ms($3::bigint) offset 0
  ) a`

/**
 * The calls of those who do not own a shard. A web process makes many small ones at the same time: those of one turn,
 * and those that come while a statement runs, share the next one. So they also share its commit.
 *
 * Proven by test/store/postgres/shared-statements.test.ts.
 */
export class InboxCalls {
  readonly #database: Database
  readonly #now: () => number | null
  readonly #shardCount: number
  readonly #appends: CallCoalescer<readonly InboxRequest[], readonly AppendAnswer[]>
  readonly #frees: CallCoalescer<readonly InboxRequest<RequestedOperation>[], readonly boolean[]>
  readonly #waits: CallCoalescer<readonly TimerName[], readonly boolean[]>
  readonly #answers: CallCoalescer<AnswersCall, readonly (Outcome | undefined)[]>

  constructor(database: Database, now: () => number | null, shardCount: number) {
    this.#database = database
    this.#now = now
    this.#shardCount = shardCount
    this.#appends = new CallCoalescer({
      send: async (calls) => splitLike(calls, await this.#append(calls.flat())),
      maxInFlight: MAX_INBOX_STATEMENTS,
      weightOf: bytesOf,
      maxWeight: MAX_WRITE_BYTES,
    })
    const named = { maxInFlight: MAX_INBOX_STATEMENTS, maxWeight: MAX_NAMES }
    this.#frees = new CallCoalescer({
      ...named,
      send: async (calls) => splitLike(calls, await this.#areFree(calls.flat())),
      weightOf: ({ length }) => length,
    })
    this.#waits = new CallCoalescer({
      ...named,
      send: async (calls) => splitLike(calls, await this.#areWaiting(calls.flat())),
      weightOf: ({ length }) => length,
    })
    this.#answers = new CallCoalescer({
      ...named,
      send: async (calls) =>
        splitLike(
          calls.map(({ ids }) => ids),
          await this.#readAnswers(calls.flatMap(({ shard, ids }) => ids.map((id) => ({ shard, id })))),
        ),
      weightOf: ({ ids }) => ids.length,
    })
  }

  async append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]> {
    return requests.length === 0 ? [] : await this.#appends.call(requests)
  }

  /**
   * Appends in the caller's transaction, on the caller's connection. The requests arrive, and `channel` is notified of
   * their shards, when it commits.
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

  async areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]> {
    return requests.length === 0 ? [] : await this.#frees.call(requests)
  }

  async areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]> {
    return names.length === 0 ? [] : await this.#waits.call(names)
  }

  async answers(shard: number, ids: readonly string[]): Promise<readonly (Outcome | undefined)[]> {
    return ids.length === 0 ? [] : await this.#answers.call({ shard, ids })
  }

  async #append(requests: readonly InboxRequest[]): Promise<readonly AppendAnswer[]> {
    const [row] = await this.#database.write('append', APPEND, this.#parameters(requests))
    return appendedOf(row!)
  }

  async #areFree(requests: readonly InboxRequest<RequestedOperation>[]): Promise<readonly boolean[]> {
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

  async #areWaiting(names: readonly TimerName[]): Promise<readonly boolean[]> {
    const [row] = await this.#database.read('areWaiting', ARE_WAITING, [
      int8Array(names, (name) => shardOf(name, this.#shardCount)),
      int8Array(names, nameHash),
    ])
    return Array.from(int8Values(arrayOf(row!, 'are_waiting')), (flag) => flag === 1)
  }

  async #readAnswers(
    asked: readonly { readonly shard: number; readonly id: string }[],
  ): Promise<readonly (Outcome | undefined)[]> {
    const rows = await this.#database.read('answers', ANSWERS, [
      int8Array(asked, ({ shard }) => shard),
      textArray(asked, ({ id }) => id),
      this.#now(),
    ])
    const answers = new Array<Outcome | undefined>(asked.length).fill(undefined)
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

function bytesOf(requests: readonly InboxRequest[]): number {
  return requests.reduce(
    (sum, { operation }) => sum + (operation.type === 'set' ? operation.payload.length : 0),
    requests.length * OPERATION_BYTES,
  )
}

/** The answers to calls that were joined, for each call. */
function splitLike<Answer>(
  calls: readonly { readonly length: number }[],
  answers: readonly Answer[],
): (readonly Answer[])[] {
  let begin = 0
  return calls.map(({ length }) => answers.slice(begin, (begin += length)))
}
