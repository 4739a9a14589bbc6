import { nameKey, shardOf, type TimerName, type TimerRow } from '../../../timer/index.js'
import { KindCounter } from '../../kind-counter.js'
import type {
  Counts,
  HistogramQuery,
  KindCount,
  KindCountQuery,
  StoreMode,
  Tally,
  Usage,
} from '../../store.js'
import { CallCoalescer } from '../calls/call-coalescer.js'
import { arrayOf, numberOf, stringOf } from '../codec/answer-row.js'
import { int8Array, int8Values, textArray } from '../codec/binary-array.js'
import { RowColumns } from '../codec/row-columns.js'
import { MAX_NAMES, MAX_STATEMENTS } from '../defaults.js'
import type { Database } from '../net/database.js'
import type { Row } from '../net/driver.js'
import { sentRows } from '../schema/owner.js'

/**
 * Reads timers for anyone, without a fence. Rows below the settled level of their shard are left out.
 *
 * Proven by test/store/postgres/contract.test.ts.
 */
export class RowReader {
  readonly #database: Database
  readonly #shardCount: number
  readonly #finds: CallCoalescer<readonly TimerName[], readonly (TimerRow | undefined)[]>

  constructor(database: Database, shardCount: number) {
    this.#database = database
    this.#shardCount = shardCount
    this.#finds = new CallCoalescer({
      send: (calls) => this.#findAll(calls),
      maxInFlight: MAX_STATEMENTS,
      weightOf: (names) => names.length,
      maxWeight: MAX_NAMES,
    })
  }

  async find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return names.length === 0 ? [] : await this.#finds.call(names)
  }

  /** Finished timers are asked for rarely, so each call has a statement of its own. */
  async findSettled(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]> {
    return names.length === 0 ? [] : await this.#find(names, 'findSettled', '<')
  }

  /** Looks up the names of several calls by one statement. */
  async #findAll(
    calls: readonly (readonly TimerName[])[],
  ): Promise<readonly (readonly (TimerRow | undefined)[])[]> {
    const found = await this.#find(calls.flat(), 'find', '>=')
    let begin = 0
    return calls.map(({ length }) => found.slice(begin, (begin += length)))
  }

  /** `side` is the side of the settled level on which the rows are. */
  async #find(
    names: readonly TimerName[],
    call: string,
    side: '>=' | '<',
  ): Promise<(TimerRow | undefined)[]> {
    const [row] = await this.#database.read(
      call,
      `select array_send(array_agg(o.n)) as numbers, ${sentRows}
      from unnest($1::bigint[], $2::text[], $3::text[], $4::text[])
        with ordinality as o(shard, namespace, kind, key, n)
      cross join lateral (select * from S.shard s where s.shard = o.shard offset 0) s
      cross join lateral (
        select * from S.timer t
        where t.key = o.key and t.kind = o.kind and t.namespace = o.namespace and t.shard + 0 = o.shard
          and (t.position + 0, t.revision) ${side} (s.settled_position, s.settled_revision)
        offset 0
      ) t`,
      [
        int8Array(names, (name) => shardOf(name, this.#shardCount)),
        textArray(names, (name) => name.namespace),
        textArray(names, (name) => name.kind),
        textArray(names, (name) => name.key),
      ],
    )
    const found = new Array<TimerRow | undefined>(names.length).fill(undefined)
    const columns = new RowColumns(row!)
    for (const [i, number] of int8Values(arrayOf(row!, 'numbers')).entries()) {
      const timer = columns.row(i)
      // A name that PostgreSQL cannot store was looked up in another spelling. A row with that name is not it.
      if (nameKey(timer) === nameKey(names[number - 1]!)) found[number - 1] = timer
    }
    return found
  }

  async histogram(query: HistogramQuery): Promise<number[]> {
    const { fromInclusive, untilExclusive, sliceMs } = query
    const counts = new Array<number>(Math.ceil((untilExclusive - fromInclusive) / sliceMs)).fill(0)
    const rows = await this.#database.read(
      'histogram',
      `select floor((t.due_at - $1::float8) / $3::float8)::bigint as slice, count(*) as count
      from S.timer t join S.shard s using (shard)
      where (t.position, t.revision) >= (s.settled_position, s.settled_revision)
        and t.due_at >= $1::float8 and t.due_at < $2::float8
        and ($4::text is null or t.namespace = $4) and ($5::text is null or t.kind = $5)
      group by 1`,
      [fromInclusive, untilExclusive, sliceMs, query.namespace, query.kind],
    )
    for (const row of rows) counts[numberOf(row, 'slice')] = numberOf(row, 'count')
    return counts
  }

  async countKinds({ namespace, edges }: KindCountQuery): Promise<readonly KindCount[]> {
    const counter = new KindCounter({ edges })
    if (edges.length < 2) return []
    const rows = await this.#database.read(
      'countKinds',
      `select t.namespace, t.kind, width_bucket(t.due_at, $1::bigint[])::bigint as slice, count(*) as count,
        count(*) filter (where t.attempt > 0) as attempted, min(t.due_at) as first
      from S.timer t join S.shard s using (shard)
      where (t.position, t.revision) >= (s.settled_position, s.settled_revision)
        and t.due_at >= $2::bigint and t.due_at < $3::bigint and ($4::text is null or t.namespace = $4)
      group by 1, 2, 3`,
      [int8Array(edges, (edge) => edge), edges[0]!, edges.at(-1)!, namespace],
    )
    for (const row of rows) {
      const counts = edges.slice(1).map(() => 0)
      counts[numberOf(row, 'slice') - 1] = numberOf(row, 'count')
      counter.addAll({
        namespace: stringOf(row, 'namespace'),
        kind: stringOf(row, 'kind'),
        counts,
        attempted: numberOf(row, 'attempted'),
        firstDueAt: numberOf(row, 'first'),
      })
    }
    return counter.all()
  }

  async counts(): Promise<Counts> {
    const [row] = await this.#database.read(
      'counts',
      `select sum(created)::bigint as created, sum(settled)::bigint as settled, sum(cancelled)::bigint as cancelled,
        sum(replaced)::bigint as replaced, sum(dead)::bigint as dead
      from (
        select created, settled, cancelled, replaced, dead from S.shard
        union all select created, settled, cancelled, replaced, dead from S.counter
      ) counted`,
    )
    return countsOf(row!)
  }

  /** Counters and rows of one instant, because one statement sees one snapshot. */
  async tallies(strategy: StoreMode): Promise<readonly Tally[]> {
    // In the mode `claim` the counters are not kept by shard.
    const counters =
      strategy === 'owned'
        ? 'select shard, created, settled, cancelled, replaced, dead from S.shard'
        : `select null::integer as shard, sum(created)::bigint as created, sum(settled)::bigint as settled,
            sum(cancelled)::bigint as cancelled, sum(replaced)::bigint as replaced, sum(dead)::bigint as dead
          from S.counter`
    const rows = await this.#database.read(
      'tallies',
      `with standing as materialized (
        select t.shard, count(*) as count from S.timer t join S.shard s using (shard)
        where (t.position, t.revision) >= (s.settled_position, s.settled_revision) group by t.shard
      )
      select c.shard::bigint, c.created, c.settled, c.cancelled, c.replaced, c.dead,
        coalesce((select sum(count) from standing s where c.shard is null or s.shard = c.shard), 0)::bigint as rows
      from (${counters}) c order by c.shard`,
    )
    return rows.map((row) => ({
      shard: strategy === 'owned' ? numberOf(row, 'shard') : undefined,
      counts: countsOf(row),
      rows: numberOf(row, 'rows'),
    }))
  }

  async countRows(): Promise<number> {
    const [row] = await this.#database.read(
      'countRows',
      `select count(*) as count from S.timer t join S.shard s using (shard)
      where (t.position, t.revision) >= (s.settled_position, s.settled_revision)`,
    )
    return numberOf(row!, 'count')
  }

  async usage(namespace: string): Promise<Usage> {
    const [row] = await this.#database.read(
      'usage',
      `select count(*) as timers, coalesce(sum(octet_length(t.payload)), 0)::bigint as bytes
      from S.timer t join S.shard s using (shard)
      where t.namespace = $1 and (t.position, t.revision) >= (s.settled_position, s.settled_revision)`,
      [namespace],
    )
    return { timers: numberOf(row!, 'timers'), bytes: numberOf(row!, 'bytes') }
  }
}

function countsOf(row: Row): Counts {
  const number = (name: keyof Counts): number => numberOf(row, name)
  return {
    created: number('created'),
    settled: number('settled'),
    cancelled: number('cancelled'),
    replaced: number('replaced'),
    dead: number('dead'),
  }
}
