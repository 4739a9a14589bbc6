import type { Fence, InboxRequest, RequestedOperation } from '../../store.js'
import { arrayOf, sentArrays } from '../codec/answer-row.js'
import { ArrayElements, int8Values } from '../codec/binary-array.js'
import { fenceColumns, fenceParameters, placeholders } from '../codec/parameters.js'
import { MAX_SHARDS_TOGETHER, REQUEST_BYTES_TOGETHER, REQUESTS_TOGETHER } from '../defaults.js'
import type { Database } from '../net/database.js'
import type { Row } from '../net/driver.js'
import { CallCoalescer } from './call-coalescer.js'

const requestColumns = ['ids', 'deadlines', 'operations', 'payloads'] as const

// One snapshot shows the fences and the requests. Without a fence that holds, `are_read` is 0. So it is for an inbox with
// many bytes, whose requests are left out.
const READ_TOGETHER = `select ${sentArrays(['numbers', 'are_read', ...requestColumns])} from (
    select array_agg(r.n) as numbers, array_agg(r.is_read) as are_read, array_agg(r.id) as ids,
      array_agg(r.deadline) as deadlines, array_agg(r.operation) as operations, array_agg(r.payload) as payloads
    from (
      select f.n, f.is_read::integer::bigint as is_read, f.deadline,
        case when f.is_read then f.id end as id, case when f.is_read then f.operation end as operation,
        case when f.is_read then f.payload end as payload
      from (
        select g.n, i.arrival, i.id::text, i.deadline, i.operation, i.payload,
          s.shard is not null and coalesce(sum(octet_length(i.operation) + coalesce(octet_length(i.payload), 0))
            over (partition by g.n), 0) <= ${REQUEST_BYTES_TOGETHER} as is_read
        from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) with ordinality
          as g(shard, epoch, nonce, settled_position, settled_revision, n)
        left join lateral (
          select s.shard from S.shard s where s.shard = g.shard and s.epoch = g.epoch and s.nonce = g.nonce
            and (s.settled_position, s.settled_revision) >= (g.settled_position, g.settled_revision) offset 0
        ) s on true
        left join lateral (
          select * from S.inbox i where s.shard is not null and i.shard = g.shard
          order by i.shard, i.arrival limit ${REQUESTS_TOGETHER}
        ) i on true
      ) f order by f.n, f.arrival
    ) r
  ) r`

const READ_ONE = `select ${sentArrays(requestColumns)} from S.requests(${placeholders(6)})`

/**
 * Reads the inboxes of shards for their owner. An owner reads each of its inboxes every second, mostly finds nothing, and
 * is woken for many at about the same time. So they share a statement, which waits for no lock. An inbox with many
 * requests or bytes is read by itself.
 *
 * Proven by test/store/postgres/shared-statements.test.ts.
 */
export class InboxReads {
  readonly #database: Database
  readonly #calls: CallCoalescer<Fence, readonly InboxRequest[] | undefined>
  // Shards whose inbox had many requests when it was last read. Likely it has more.
  readonly #busy = new Set<number>()

  constructor(database: Database) {
    this.#database = database
    this.#calls = new CallCoalescer({
      send: (fences) => this.#readTogether(fences),
      maxInFlight: 1,
      weightOf: () => 1,
      maxWeight: MAX_SHARDS_TOGETHER,
    })
  }

  async read(fence: Fence, limit: number): Promise<readonly InboxRequest[]> {
    const { shard } = fence
    if (!this.#busy.has(shard)) {
      const requests = await this.#calls.call(fence)
      if (requests !== undefined && requests.length < REQUESTS_TOGETHER) return requests.slice(0, limit)
    }
    const [row] = await this.#database.read('requests', READ_ONE, [...fenceParameters(fence), limit])
    const columns = new RequestColumns(row!)
    const requests = Array.from({ length: columns.length }, (_, i) => columns.request(i, shard))
    if (requests.length >= REQUESTS_TOGETHER) this.#busy.add(shard)
    else this.#busy.delete(shard)
    return requests
  }

  /** The oldest requests of each shard. Undefined where the fence does not hold, or the requests have many bytes. */
  async #readTogether(fences: readonly Fence[]): Promise<readonly (readonly InboxRequest[] | undefined)[]> {
    const [row] = await this.#database.read('requests', READ_TOGETHER, fenceColumns(fences))
    const areRead = int8Values(arrayOf(row!, 'are_read'))
    const columns = new RequestColumns(row!)
    const found = fences.map((): InboxRequest[] | undefined => undefined)
    for (const [i, number] of int8Values(arrayOf(row!, 'numbers')).entries()) {
      if (areRead[i] === 0) continue
      const requests = (found[number - 1] ??= [])
      if (!columns.isAbsent(i)) requests.push(columns.request(i, fences[number - 1]!.shard))
    }
    return found
  }
}

/** The requests of an answer, column by column. */
class RequestColumns {
  readonly #ids: ArrayElements
  readonly #deadlines: Float64Array
  readonly #operations: ArrayElements
  readonly #payloads: ArrayElements

  constructor(row: Row) {
    this.#ids = new ArrayElements(arrayOf(row, 'ids'))
    this.#deadlines = int8Values(arrayOf(row, 'deadlines'))
    this.#operations = new ArrayElements(arrayOf(row, 'operations'))
    this.#payloads = new ArrayElements(arrayOf(row, 'payloads'))
  }

  get length(): number {
    return this.#ids.length
  }

  /** The row says only that an inbox is empty. */
  isAbsent(index: number): boolean {
    return this.#ids.isNull(index)
  }

  request(index: number, shard: number): InboxRequest {
    const operation = JSON.parse(this.#operations.string(index)) as RequestedOperation
    return {
      id: this.#ids.string(index),
      shard,
      deadline: this.#deadlines[index]!,
      operation: this.#payloads.isNull(index)
        ? operation
        : ({ ...operation, payload: this.#payloads.bytes(index) } as RequestedOperation),
    }
  }
}
