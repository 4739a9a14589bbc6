import type { Clock } from '../../../time/index.js'
import type { TimerRow } from '../../../timer/index.js'
import { SCHEDULE_FIELD } from '../../filter.js'
import { lastPage, listStartOf, pageBefore } from '../../list-cursor.js'
import type { ListedRows, ListQuery } from '../../store.js'
import { arrayOf, numberOf } from '../codec/answer-row.js'
import { int8Values } from '../codec/binary-array.js'
import { RowColumns } from '../codec/row-columns.js'
import { LIST_ROWS, MIN_BUDGETED_ROWS, MAX_NAMED_ROWS, MIN_LIST_ROWS } from '../defaults.js'
import type { Database } from '../net/database.js'
import type { Row } from '../net/driver.js'
import { sentRows } from '../schema/owner.js'

/** Where a list goes on. */
type ListPlace = readonly [shard: number, position: number, revision: number]

/** The rows of one statement that match, in order, and where the list goes on; undefined at its end. */
interface ReadPage {
  readonly rows: RowColumns
  readonly shards: Float64Array
  readonly next: ListPlace | undefined
  /** How many rows the statement looked at, and how many of them are before the last row of `rows`. */
  readonly looked: number
  readonly passed: number
}

// No key has more characters, so every key with a prefix is at or before the prefix followed by this.
const AFTER_EVERY_KEY = '\u{10FFFF}'.repeat(128)

/**
 * Lists timers by statements that look at a bounded number of rows each, so that a page can end between two of them. A
 * due window reads the index by place within the window. Rows whose position is not their due time have an index of
 * their own. A prefix that few keys have is found by the index by name.
 *
 * Proven by test/store/postgres/contract.test.ts and test/store/postgres/lists.test.ts.
 */
export class RowLister {
  readonly #database: Database
  readonly #clock: Clock
  readonly #shardCount: number

  constructor(database: Database, clock: Clock, shardCount: number) {
    this.#database = database
    this.#clock = clock
    this.#shardCount = shardCount
  }

  async list(query: ListQuery): Promise<ListedRows> {
    const { signal, limit, budgetMs = Infinity } = query
    const until = this.#clock.monotonic() + budgetMs
    const items: TimerRow[] = []
    // PostgreSQL refuses the character, and no timer has it.
    if (textsOf(query).some((text) => text?.includes('\0') === true)) return lastPage([], 0)
    const start = listStartOf(query.cursor, this.#shardCount)
    let from: ListPlace = [start.shard, start.place.position, start.place.revision]
    // Little at first: the next rows match often.
    let lookAt = Math.min(LIST_ROWS, Math.max(limit + 1, MIN_LIST_ROWS))
    let looked = 0
    let mayBeRare = query.keyPrefix !== undefined && query.keyPrefix !== ''
    const pageUntil = ([shard, position, revision]: ListPlace, isComplete: boolean): ListedRows => {
      const next = { shard, place: { position, revision }, looked: start.looked + looked }
      return pageBefore(next, items, isComplete)
    }
    signal?.throwIfAborted()
    for (;;) {
      const most = limit - items.length
      const page = await this.#read(query, from, lookAt, most)
      signal?.throwIfAborted()
      const left = take(page, items, limit)
      looked += left === undefined ? page.looked : page.passed
      if (left !== undefined) return pageUntil(left, true)
      if (page.next === undefined) return lastPage(items, start.looked + looked)
      from = page.next
      lookAt = LIST_ROWS
      if (mayBeRare) {
        const named = await this.#readNamed(query, from, limit - items.length)
        signal?.throwIfAborted()
        if (named !== undefined) {
          const next = take(named, items, limit)
          looked += next === undefined ? named.looked : named.passed
          return next === undefined ? lastPage(items, start.looked + looked) : pageUntil(next, true)
        }
        mayBeRare = false
      }
      const isOut = looked >= MIN_BUDGETED_ROWS && this.#clock.monotonic() >= until
      if (isOut) return pageUntil(from, false)
    }
  }

  async #read(query: ListQuery, from: ListPlace, lookAt: number, most: number): Promise<ReadPage> {
    const isWindow = query.dueFromInclusive !== undefined || query.dueUntilExclusive !== undefined
    return isWindow
      ? await this.#readWindow(query, from, lookAt, most)
      : await this.#readPlaces(query, from, lookAt, most)
  }

  /** Looks at the next rows of all shards. */
  async #readPlaces(query: ListQuery, from: ListPlace, lookAt: number, most: number): Promise<ReadPage> {
    const looked = `select * from S.timer where (shard, position, revision) >= ($1, $2, $3)
        order by shard, position, revision limit $4`
    const row = await this.#select(looked, query, [...from, lookAt], most)
    return pageOf(row, numberOf(row, 'looked') < lookAt ? undefined : placeAfter(row))
  }

  /** Looks at the next rows of one shard that are in the due window by their position, or not at their due time. */
  async #readWindow(query: ListQuery, from: ListPlace, lookAt: number, most: number): Promise<ReadPage> {
    const inShard = 'select * from S.timer where shard = $1 and (position, revision) >= ($2, $3)'
    const ordered = 'order by position, revision limit $4'
    const looked = `select * from (
        (${inShard} and position < coalesce($9::bigint, 0) and due_at <> position ${ordered})
        union all (${inShard} and position >= coalesce($9::bigint, 0) and position < coalesce($10::bigint, 9007199254740992) ${ordered})
        union all (${inShard} and position >= coalesce($10::bigint, 9007199254740992) and due_at <> position ${ordered})
      ) w order by position, revision limit $4`
    const row = await this.#select(looked, query, [...from, lookAt], most)
    if (numberOf(row, 'looked') === lookAt) return pageOf(row, placeAfter(row))
    const [shard] = from
    return pageOf(row, shard + 1 < this.#shardCount ? [shard + 1, 0, 0] : undefined)
  }

  /** All rows with the prefix from a place on; undefined if too many keys have it. */
  async #readNamed(query: ListQuery, from: ListPlace, most: number): Promise<ReadPage | undefined> {
    const looked = `select * from S.timer where key >= $7 and key <= $7 || $16::text limit $4`
    const isLater = 'and (t.shard, t.position, t.revision) >= ($1, $2, $3)'
    const numbers = [...from, MAX_NAMED_ROWS + 1]
    const row = await this.#select(looked, query, numbers, most, isLater, [AFTER_EVERY_KEY])
    return numberOf(row, 'looked') > MAX_NAMED_ROWS ? undefined : pageOf(row, undefined)
  }

  /** Filters the rows of the subquery `looked`. Returns one more than `most`, so that a row may be left. */
  async #select(
    looked: string,
    query: ListQuery,
    numbers: readonly number[],
    most: number,
    condition = '',
    more: readonly string[] = [],
  ): Promise<Row> {
    const [row] = await this.#database.read(
      'list',
      `with looked as materialized (${looked}), t as materialized (
        select t.* from looked t join S.shard s using (shard)
        where (t.position, t.revision) >= (s.settled_position, s.settled_revision) ${condition}
          and t.namespace = $5::text and ($6::text is null or t.kind = $6)
          and ($7::text is null or starts_with(t.key, $7)) and ($8::text is null or $8 = any (t.tags))
          and ($9::bigint is null or t.due_at >= $9) and ($10::bigint is null or t.due_at < $10)
          and ($12::text is null or strpos(t.key, $12) > 0)
          and ($13::bigint is null or t.attempt >= $13) and ($14::bigint is null or t.attempt < $14)
          and ($15::boolean is null or (strpos(t.details, '${SCHEDULE_FIELD}') > 0) = $15)
        order by t.shard, t.position, t.revision limit $11
      )
      select (select count(*) from looked) as looked,
        (select array_send(array[shard, position, revision]) from looked order by shard desc, position desc, revision desc limit 1) as last,
        (select count(*) from looked where (shard, position, revision) <
          (select shard, position, revision from t order by shard desc, position desc, revision desc limit 1)) as passed,
        array_send(array_agg(t.shard::bigint)) as shards, ${sentRows}
      from t`,
      [
        ...numbers,
        query.namespace,
        query.kind,
        query.keyPrefix,
        query.tag,
        query.dueFromInclusive,
        query.dueUntilExclusive,
        most + 1,
        query.keyPart,
        query.attemptFromInclusive,
        query.attemptUntilExclusive,
        query.isRecurring,
        ...more,
      ],
    )
    return row!
  }
}

/** Adds the rows of a page to the items, up to the limit. Returns the place of the first row that is left. */
function take(page: ReadPage, items: TimerRow[], limit: number): ListPlace | undefined {
  for (let i = 0; i < page.rows.size; i++) {
    const row = page.rows.row(i)
    if (items.length === limit) return [page.shards[i]!, row.position, row.revision]
    items.push(row)
  }
  return undefined
}

function pageOf(row: Row, next: ListPlace | undefined): ReadPage {
  return {
    rows: new RowColumns(row),
    shards: int8Values(arrayOf(row, 'shards')),
    next,
    looked: numberOf(row, 'looked'),
    passed: numberOf(row, 'passed'),
  }
}

/** The place after the last row that a statement looked at. */
function placeAfter(row: Row): ListPlace {
  const [shard = 0, position = 0, revision = 0] = int8Values(arrayOf(row, 'last'))
  return [shard, position, revision + 1]
}

function textsOf({ namespace, kind, keyPrefix, keyPart, tag }: ListQuery): readonly (string | undefined)[] {
  return [namespace, kind, keyPrefix, keyPart, tag]
}
