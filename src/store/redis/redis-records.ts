import type { Clock } from '../../time/index.js'
import { firstPlace, type Place, shardOf, type TimerRow } from '../../timer/index.js'
import { cursorOf, parseCursor } from '../cursor.js'
import { matches, matchesName } from '../filter.js'
import type {
  DeadLetter,
  DeadQuery,
  HistoryEntry,
  HistoryQuery,
  Listed,
  ListQuery,
  PageQuery,
} from '../store.js'
import { parseEntry, parseLetter, parseLetterId } from './record-codec.js'
import type { RedisShard } from './redis-shard.js'
import type { Script } from './script.js'

// How many rows or records are read at a time.
const LEAST = 50
const MOST = 1000

/** Lists, which go through the shards one after the other, some rows or records at a time. */
export class RedisRecords {
  readonly #shards: readonly RedisShard[]
  readonly #clock: Clock

  constructor(shards: readonly RedisShard[], clock: Clock) {
    this.#shards = shards
    this.#clock = clock
  }

  async list(query: ListQuery): Promise<Listed<TimerRow>> {
    const started = this.#clock.monotonic()
    const items: TimerRow[] = []
    const [first = 0, position = 0, revision = 0] = partsOf('list', query)
    let from: Place | undefined = { position: Number(position), revision: Number(revision) }
    let shard = Number(first)
    while (shard < this.#shards.length) {
      const { page, next }: Awaited<ReturnType<RedisShard['page']>> = await this.#shards[shard]!.page(
        from ?? firstPlace,
        chunkFor(query, items),
      )
      for (let index = 0; index < page.size; index++) {
        const row = page.row(index)
        if (!matches(row, query)) continue
        if (items.length === query.limit) {
          return { items, cursor: cursorOf('list', [shard, row.position, row.revision]) }
        }
        items.push(row)
      }
      from = next
      if (next === undefined) shard++
      if (shard < this.#shards.length && this.#isOver(started, query)) {
        return { items, cursor: cursorOf('list', [shard, from?.position ?? 0, from?.revision ?? 0]) }
      }
    }
    return { items, cursor: undefined }
  }

  async deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>> {
    const started = this.#clock.monotonic()
    const items: DeadLetter[] = []
    const [first = 0, after = ''] = partsOf('dead', query)
    let last = String(after)
    let shard = Number(first)
    while (shard < this.#shards.length) {
      const { nodes, key } = this.#shards[shard]!
      const from = last === '' ? '-' : `(${last}`
      const chunk = chunkFor(query, items)
      const order = ['ZRANGEBYLEX', `${key}:deadorder`, from, '+', 'LIMIT', '0', String(chunk)]
      const numbers = ((await nodes.call(key, order)) as Buffer[]).map(String)
      const found = numbers.length === 0 ? [] : await nodes.call(key, ['HMGET', `${key}:dead`, ...numbers])
      for (const [index, bytes] of (found as (Buffer | null)[]).entries()) {
        // It may have been taken away between the two.
        if (bytes === null) continue
        const letter = parseLetter(shard, numbers[index]!, bytes)
        if (!matchesName(letter.row, query)) continue
        if (items.length === query.limit) return { items, cursor: cursorOf('dead', [shard, last]) }
        items.push(letter)
        last = numbers[index]!
      }
      last = numbers.at(-1) ?? ''
      if (numbers.length < chunk) {
        last = ''
        shard++
      }
      if (shard < this.#shards.length && this.#isOver(started, query)) {
        return { items, cursor: cursorOf('dead', [shard, last]) }
      }
    }
    return { items, cursor: undefined }
  }

  async removeDead(ids: readonly string[], script: Script): Promise<boolean[]> {
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
        const numbers = letters.map(({ number }) => number)
        const flags = String(await this.#shards[shard]!.run(script, numbers))
        for (const [at, { index }] of letters.entries()) answers[index] = flags[at] === '1'
      }),
    )
    return answers
  }

  async history(query: HistoryQuery): Promise<Listed<HistoryEntry>> {
    const started = this.#clock.monotonic()
    const { namespace, kind, key: timer, fromInclusive = 0, untilExclusive } = query
    const items: HistoryEntry[] = []
    const isOne = kind !== undefined && timer !== undefined
    const only = isOne ? shardOf({ namespace, kind, key: timer }, this.#shards.length) : 0
    const end = isOne ? only + 1 : this.#shards.length
    const [first = only, since = fromInclusive, seen = 0] = partsOf('history', query)
    // How many entries of the millisecond `at` were looked at: later ones of the same time come after them.
    let at = Number(since)
    let skip = Number(seen)
    let shard = Number(first)
    while (shard < end) {
      const { nodes, key } = this.#shards[shard]!
      const chunk = chunkFor(query, items)
      const range = [String(at), untilExclusive === undefined ? '+inf' : `(${untilExclusive}`]
      const limits = ['LIMIT', String(skip), String(chunk)]
      const found = (await nodes.call(key, [
        'ZRANGEBYSCORE',
        `${key}:history`,
        ...range,
        ...limits,
      ])) as Buffer[]
      for (const member of found) {
        const entry = parseEntry(member)
        const isAsked = matchesName(entry, query)
        if (isAsked && items.length === query.limit) {
          return { items, cursor: cursorOf('history', [shard, at, skip]) }
        }
        if (isAsked) items.push(entry)
        skip = entry.at === at ? skip + 1 : 1
        at = entry.at
      }
      if (found.length < chunk) {
        shard++
        at = fromInclusive
        skip = 0
      }
      if (shard < end && this.#isOver(started, query)) {
        return { items, cursor: cursorOf('history', [shard, at, skip]) }
      }
    }
    return { items, cursor: undefined }
  }

  #isOver(started: number, { budgetMs }: PageQuery): boolean {
    return budgetMs !== undefined && this.#clock.monotonic() - started >= budgetMs
  }
}

function partsOf(name: string, { cursor }: PageQuery): (string | number)[] {
  return cursor === undefined ? [] : parseCursor(name, cursor)
}

/** One more than is still wanted tells whether there is more. */
function chunkFor({ limit }: PageQuery, items: readonly unknown[]): number {
  return Math.max(LEAST, Math.min(MOST, limit - items.length + 1))
}
