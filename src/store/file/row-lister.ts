import { firstPlace, isBefore, laterOf, type Place, type TimerRow } from '../../timer/index.js'
import { cursorOf, parseCursor } from '../cursor.js'
import { matches } from '../filter.js'
import type { HistogramQuery, Listed, ListQuery } from '../store.js'
import { type Chunk, dueAtOf, payloadBytesOf, rowOf, scopeOf } from './chunk.js'
import type { Bucket } from './bucket.js'
import type { RowTable } from './row-table.js'
import { Segment } from './segment.js'
import type { TimeBudget } from './time-budget.js'

/** Reads rows for people: lists, histograms, counts. It sees rows that stand at or after their settled level. */
export class RowLister {
  readonly #table: RowTable
  readonly #settledLevel: (shard: number) => Place
  readonly #ready: (bucket: Bucket) => void

  constructor(table: RowTable, settledLevel: (shard: number) => Place, ready: (bucket: Bucket) => void) {
    this.#table = table
    this.#settledLevel = settledLevel
    this.#ready = ready
  }

  /** One stretch of a list; `next` says where it goes on. */
  listSome(query: ListQuery, from: ListPlace, items: TimerRow[], budget: TimeBudget): ListPlace | undefined {
    const table = this.#table
    const { shard } = from
    if (shard >= table.buckets.length) return undefined
    table.look()
    const level = laterOf(from.place, this.#settledLevel(shard))
    const segment = Segment.from(table, table.buckets[shard]!, level, false, this.#ready)
    if (segment === undefined) return { shard: shard + 1, place: firstPlace }
    const { rows, refs } = segment
    for (const number of segment.order) {
      const place = { position: rows.position(number), revision: rows.revision(number) }
      if (items.length === query.limit || budget.isOver()) return { shard, place, isOver: true }
      const chunk = table.peek(refs[rows.slot(number)]!)
      const ordinal = rows.ordinal(number)
      if (scopeOf(chunk, ordinal).namespace !== query.namespace) continue
      const row = rowOf(chunk, ordinal, true)
      if (matches(row, query)) items.push(row)
    }
    return { shard, place: segment.end }
  }

  /** Counts the rows of one bucket into slices of time. */
  addTo(slices: number[], bucket: Bucket, query: HistogramQuery): void {
    this.#eachStanding(bucket, (chunk, ordinal) => {
      const dueAt = dueAtOf(chunk, ordinal)
      if (dueAt < query.fromInclusive || dueAt >= query.untilExclusive) return
      const scope = scopeOf(chunk, ordinal)
      if (query.namespace !== undefined && scope.namespace !== query.namespace) return
      if (query.kind !== undefined && scope.kind !== query.kind) return
      slices[Math.floor((dueAt - query.fromInclusive) / query.sliceMs)]!++
    })
  }

  /** Adds what the rows of a namespace in one bucket take. */
  addUsage(usage: { timers: number; bytes: number }, bucket: Bucket, namespace: string): void {
    this.#eachStanding(bucket, (chunk, ordinal) => {
      if (scopeOf(chunk, ordinal).namespace !== namespace) return
      usage.timers++
      usage.bytes += payloadBytesOf(chunk, ordinal)
    })
  }

  #eachStanding(bucket: Bucket, look: (chunk: Chunk, ordinal: number) => void): void {
    const { chunks } = this.#table
    const level = this.#settledLevel(bucket.shard)
    this.#table.look()
    this.#ready(bucket)
    for (const ref of bucket.refs) {
      if (chunks.rows[ref] === chunks.dead[ref]) continue
      const chunk = this.#table.peek(ref)
      for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
        if (chunks.isDead(ref, ordinal)) continue
        const place = { position: chunk.position(ordinal), revision: chunk.revision(ordinal) }
        if (!isBefore(place, level)) look(chunk, ordinal)
      }
    }
  }

  /** How many rows of a bucket stand, by what its chunks say and nothing else. */
  countIn(bucket: Bucket): number {
    const level = this.#settledLevel(bucket.shard)
    this.#table.look()
    const removed = new Set<number>()
    for (const ref of bucket.refs) {
      const chunk = this.#table.peek(ref)
      for (let i = 0; i < chunk.removals; i++) removed.add(chunk.removal(i))
    }
    let count = 0
    for (const ref of bucket.refs) {
      const chunk = this.#table.peek(ref)
      for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
        const revision = chunk.revision(ordinal)
        if (removed.has(revision)) continue
        if (!isBefore({ position: chunk.position(ordinal), revision }, level)) count++
      }
    }
    return count
  }
}

/** Where a list goes on. */
export interface ListPlace {
  readonly shard: number
  readonly place: Place
  /** Whether the page ends here. */
  readonly isOver?: boolean
}

export function listPlaceOf(cursor: string | undefined): ListPlace {
  const [shard = 0, position = 0, revision = 0] = cursor === undefined ? [] : parseCursor('list', cursor)
  return { shard: Number(shard), place: { position: Number(position), revision: Number(revision) } }
}

export function listed(items: readonly TimerRow[], next: ListPlace | undefined): Listed<TimerRow> {
  if (next === undefined) return { items, cursor: undefined }
  return { items, cursor: cursorOf('list', [next.shard, next.place.position, next.place.revision]) }
}
