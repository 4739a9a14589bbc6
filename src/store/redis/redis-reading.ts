import type { Clock } from '../../time/index.js'
import { firstPlace, type Place, shardOf, type TimerName, type TimerRow } from '../../timer/index.js'
import {
  anyInteger,
  type CursorPart,
  cursorOf,
  finite,
  integerUpTo,
  parseCursor,
  textLike,
} from '../cursor.js'
import { KindCounter } from '../kind-counter.js'
import { matches, matchesName } from '../filter.js'
import { lastPage, listStartOf, pageBefore } from '../list-cursor.js'
import type {
  Counts,
  DeadLetter,
  DeadQuery,
  HistogramQuery,
  KindCount,
  KindCountQuery,
  HistoryEntry,
  HistoryQuery,
  Listed,
  ListedRows,
  ListQuery,
  PageQuery,
  StoreReading,
  Tally,
  Usage,
} from '../store.js'
import { callByShard } from './batch/by-shard.js'
import { MAX_LIST_READ, MIN_BUDGETED_ROWS, MIN_LIST_READ } from './defaults.js'
import { RowMatcher } from './codec/row-matcher.js'
import { parseEntry, parseLetter, parseLetterId } from './codec/record-codec.js'
import type { RedisShard } from './redis-shard.js'
import type { ShardScripts } from './scripts/shard-scripts.js'

/**
 * What anyone may read from a whole store. Lists go through the shards one after the other, some rows or records at a
 * time. Sums ask all shards at once.
 *
 * Proven by the store contract, in test/store/redis/contract.test.ts.
 */
export class RedisReading implements StoreReading {
  readonly #shards: readonly RedisShard[]
  readonly #scripts: ShardScripts
  readonly #clock: Clock
  readonly #shardNumber: CursorPart<number>

  constructor(shards: readonly RedisShard[], scripts: ShardScripts, clock: Clock) {
    this.#shards = shards
    this.#scripts = scripts
    this.#clock = clock
    this.#shardNumber = integerUpTo(shards.length)
  }

  find(names: readonly TimerName[]): Promise<(TimerRow | undefined)[]> {
    return this.#find(names, false)
  }

  findSettled(names: readonly TimerName[]): Promise<(TimerRow | undefined)[]> {
    return this.#find(names, true)
  }

  /** The timers with these names that have not finished, or those that have. */
  #find(names: readonly TimerName[], isSettled: boolean): Promise<(TimerRow | undefined)[]> {
    return callByShard(
      names,
      (name) => shardOf(name, this.#shards.length),
      (shard, some) => this.#shards[shard]!.find(some, isSettled),
    )
  }

  async histogram(query: HistogramQuery): Promise<number[]> {
    const { fromInclusive, untilExclusive, sliceMs, namespace = '', kind = '' } = query
    const slices = new Array<number>(Math.ceil((untilExclusive - fromInclusive) / sliceMs)).fill(0)
    const args = [String(fromInclusive), String(untilExclusive), String(sliceMs), namespace, kind]
    await Promise.all(this.#shards.map((shard) => shard.addToHistogram(slices, args)))
    return slices
  }

  async countKinds(query: KindCountQuery): Promise<readonly KindCount[]> {
    const counter = new KindCounter(query)
    const args = [query.namespace ?? '', ...query.edges.map(String)]
    if (query.edges.length >= 2) await Promise.all(this.#shards.map((shard) => shard.addKinds(counter, args)))
    return counter.all()
  }

  async counts(): Promise<Counts> {
    const counts = await Promise.all(this.#shards.map((shard) => shard.counts()))
    return {
      created: sum(counts.map(({ created }) => created)),
      settled: sum(counts.map(({ settled }) => settled)),
      cancelled: sum(counts.map(({ cancelled }) => cancelled)),
      replaced: sum(counts.map(({ replaced }) => replaced)),
      dead: sum(counts.map(({ dead }) => dead)),
    }
  }

  async countRows(): Promise<number> {
    return sum(await Promise.all(this.#shards.map((shard) => shard.countRows())))
  }

  tallies(): Promise<Tally[]> {
    return Promise.all(this.#shards.map((shard) => shard.tally()))
  }

  async usage(namespace: string): Promise<Usage> {
    const usages = await Promise.all(this.#shards.map((shard) => shard.usage(namespace)))
    return { timers: sum(usages.map(({ timers }) => timers)), bytes: sum(usages.map(({ bytes }) => bytes)) }
  }

  async list(query: ListQuery): Promise<ListedRows> {
    const { signal, limit } = query
    const started = this.#clock.monotonic()
    const matcher = new RowMatcher(query)
    const items: TimerRow[] = []
    const start = listStartOf(query.cursor, this.#shards.length)
    let from: Place | undefined = start.place
    let { shard } = start
    let size = readSize(query, items)
    let looked = 0
    signal?.throwIfAborted()
    while (shard < this.#shards.length) {
      const { page, next }: Awaited<ReturnType<RedisShard['listPage']>> = await this.#shards[shard]!.listPage(
        from ?? firstPlace,
        size,
        query,
      )
      signal?.throwIfAborted()
      for (let index = 0; index < page.size; index++) {
        if (!page.mayMatch(index, matcher)) continue
        const row = page.row(index)
        if (!matches(row, query)) continue
        if (items.length === limit) {
          return pageBefore({ shard, place: row, looked: start.looked + looked + index }, items, true)
        }
        items.push(row)
      }
      from = next
      looked += page.size
      if (next === undefined) shard++
      const isOut = looked >= MIN_BUDGETED_ROWS && this.#isOverBudget(started, query)
      if (isOut && shard < this.#shards.length) {
        return pageBefore({ shard, place: from ?? firstPlace, looked: start.looked + looked }, items, false)
      }
      // Rows that match are rare: read more at a time.
      size = MAX_LIST_READ
    }
    return lastPage(items, start.looked + looked)
  }

  async countDead(): Promise<number> {
    const counts = this.#shards.map(({ nodes, key }) => nodes.call(key, ['HLEN', `${key}:dead`]))
    return sum((await Promise.all(counts)).map(Number))
  }

  async deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    const started = this.#clock.monotonic()
    const items: DeadLetter[] = []
    const [first = 0, after = ''] =
      parseCursor<[number, string]>('dead', query.cursor, this.#shardNumber, textLike(/^([0-9a-f]{12})?$/)) ??
      []
    let last = after
    let shard = first
    while (shard < this.#shards.length) {
      const { nodes, key } = this.#shards[shard]!
      const from = last === '' ? '-' : `(${last}`
      const size = readSize(query, items)
      const order = ['ZRANGEBYLEX', `${key}:deadorder`, from, '+', 'LIMIT', '0', String(size)]
      const numbers = ((await nodes.call(key, order)) as Buffer[]).map(String)
      const found = numbers.length === 0 ? [] : await nodes.call(key, ['HMGET', `${key}:dead`, ...numbers])
      for (const [index, bytes] of (found as (Buffer | null)[]).entries()) {
        // Another call may have removed it between the two reads.
        if (bytes === null) continue
        const letter = parseLetter(shard, numbers[index]!, bytes)
        if (!matchesName(letter.row, query)) continue
        if (items.length === query.limit) return { items, cursor: cursorOf('dead', [shard, last]) }
        items.push(letter)
        last = numbers[index]!
      }
      last = numbers.at(-1) ?? ''
      if (numbers.length < size) {
        last = ''
        shard++
      }
      if (shard < this.#shards.length && this.#isOverBudget(started, query)) {
        return { items, cursor: cursorOf('dead', [shard, last]) }
      }
    }
    return { items, cursor: undefined }
  }

  async removeDead(namespace: string, ids: readonly string[]): Promise<boolean[]> {
    const answers = ids.map(() => false)
    const byShard = new Map<number, { readonly index: number; readonly number: string }[]>()
    for (const [index, id] of ids.entries()) {
      const letter = parseLetterId(id)
      if (letter === undefined || letter.shard >= this.#shards.length) continue
      const list = byShard.get(letter.shard) ?? []
      byShard.set(letter.shard, [...list, { index, number: letter.number }])
    }
    await Promise.all(
      [...byShard].map(async ([shard, letters]) => {
        const { nodes, key } = this.#shards[shard]!
        const found = await nodes.call(key, ['HMGET', `${key}:dead`, ...letters.map(({ number }) => number)])
        // A letter never changes, so it may be looked up first.
        const asked = letters.filter(({ number }, at) => {
          const bytes = (found as (Buffer | null)[])[at] ?? null
          return bytes !== null && parseLetter(shard, number, bytes).row.namespace === namespace
        })
        if (asked.length === 0) return
        const numbers = asked.map(({ number }) => number)
        const flags = String(await this.#shards[shard]!.run(this.#scripts.removeDead, numbers))
        for (const [at, { index }] of asked.entries()) answers[index] = flags[at] === '1'
      }),
    )
    return answers
  }

  async history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    const started = this.#clock.monotonic()
    const { namespace, kind, key: timer, fromInclusive = 0, untilExclusive } = query
    const items: HistoryEntry[] = []
    const isOneTimer = kind !== undefined && timer !== undefined
    const only = isOneTimer ? shardOf({ namespace, kind, key: timer }, this.#shards.length) : 0
    const end = isOneTimer ? only + 1 : this.#shards.length
    const [first = only, since = fromInclusive, seen = 0] =
      parseCursor<[number, number, number]>('history', query.cursor, this.#shardNumber, finite, anyInteger) ??
      []
    // How many entries of the millisecond `at` were read. Entries added later for the same time come after them.
    let at = since
    let skip = seen
    let shard = first
    while (shard < end) {
      const { nodes, key } = this.#shards[shard]!
      const size = readSize(query, items)
      const range = [String(at), untilExclusive === undefined ? '+inf' : `(${untilExclusive}`]
      const limits = ['LIMIT', String(skip), String(size)]
      const found = (await nodes.call(key, [
        'ZRANGEBYSCORE',
        `${key}:history`,
        ...range,
        ...limits,
      ])) as Buffer[]
      for (const member of found) {
        const entry = parseEntry(member)
        const isMatch = matchesName(entry, query)
        if (isMatch && items.length === query.limit) {
          return { items, cursor: cursorOf('history', [shard, at, skip]) }
        }
        if (isMatch) items.push(entry)
        skip = entry.at === at ? skip + 1 : 1
        at = entry.at
      }
      if (found.length < size) {
        shard++
        at = fromInclusive
        skip = 0
      }
      if (shard < end && this.#isOverBudget(started, query)) {
        return { items, cursor: cursorOf('history', [shard, at, skip]) }
      }
    }
    return { items, cursor: undefined }
  }

  async pruneHistory(beforeExclusive: number): Promise<number> {
    return sum(await Promise.all(this.#shards.map((shard) => shard.pruneHistory(beforeExclusive))))
  }

  #isOverBudget(started: number, { budgetMs }: PageQuery): boolean {
    return budgetMs !== undefined && this.#clock.monotonic() - started >= budgetMs
  }
}

/** Reads one item more than is still needed, to see whether there is more. */
function readSize({ limit }: PageQuery, items: readonly unknown[]): number {
  return Math.max(MIN_LIST_READ, Math.min(MAX_LIST_READ, limit - items.length + 1))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
