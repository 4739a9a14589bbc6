import { isBefore, type Place } from '../../../timer/index.js'
import type { KindCounter } from '../../kind-counter.js'
import type { HistogramQuery } from '../../store.js'
import { attemptOf, type Chunk, dueAtOf, payloadBytesOf, scopeOf } from '../rows/chunk.js'
import type { Bucket } from '../rows/bucket.js'
import type { RowTable } from '../rows/row-table.js'

/** Reads rows for histograms, counts and usage. It sees the live rows at or above the settled level. */
export class RowLister {
  readonly #table: RowTable
  readonly #settledLevel: (shard: number) => Place
  readonly #ensureIndexed: (bucket: Bucket) => void

  constructor(
    table: RowTable,
    settledLevel: (shard: number) => Place,
    ensureIndexed: (bucket: Bucket) => void,
  ) {
    this.#table = table
    this.#settledLevel = settledLevel
    this.#ensureIndexed = ensureIndexed
  }

  /** Counts the rows of one bucket into slices of time. */
  addToHistogram(slices: number[], bucket: Bucket, query: HistogramQuery): void {
    this.#eachLive(bucket, (chunk, ordinal) => {
      const dueAt = dueAtOf(chunk, ordinal)
      if (dueAt < query.fromInclusive || dueAt >= query.untilExclusive) return
      const scope = scopeOf(chunk, ordinal)
      if (query.namespace !== undefined && scope.namespace !== query.namespace) return
      if (query.kind !== undefined && scope.kind !== query.kind) return
      slices[Math.floor((dueAt - query.fromInclusive) / query.sliceMs)]!++
    })
  }

  /** Adds the rows of a namespace in one bucket, and their payload bytes. */
  addUsage(usage: { timers: number; bytes: number }, bucket: Bucket, namespace: string): void {
    this.#eachLive(bucket, (chunk, ordinal) => {
      if (scopeOf(chunk, ordinal).namespace !== namespace) return
      usage.timers++
      usage.bytes += payloadBytesOf(chunk, ordinal)
    })
  }

  /** Counts the rows of one bucket by kind and due time. */
  addKinds(counter: KindCounter, bucket: Bucket): void {
    this.#eachLive(bucket, (chunk, ordinal) => {
      const { namespace, kind } = scopeOf(chunk, ordinal)
      counter.add(namespace, kind, dueAtOf(chunk, ordinal), attemptOf(chunk, ordinal) > 0)
    })
  }

  #eachLive(bucket: Bucket, visit: (chunk: Chunk, ordinal: number) => void): void {
    const { chunks } = this.#table
    const level = this.#settledLevel(bucket.shard)
    this.#table.dropPeeked()
    this.#ensureIndexed(bucket)
    for (const ref of bucket.refs) {
      if (chunks.rows[ref] === chunks.dead[ref]) continue
      const chunk = this.#table.peekChunk(ref)
      for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
        if (chunks.isDead(ref, ordinal)) continue
        const place = { position: chunk.position(ordinal), revision: chunk.revision(ordinal) }
        if (!isBefore(place, level)) visit(chunk, ordinal)
      }
    }
  }

  /** Counts the live rows of a bucket from its chunks alone, so that it can check what memory counts. */
  countIn(bucket: Bucket): number {
    const level = this.#settledLevel(bucket.shard)
    this.#table.dropPeeked()
    const removed = new Set<number>()
    for (const ref of bucket.refs) {
      const chunk = this.#table.peekChunk(ref)
      for (let i = 0; i < chunk.removals; i++) removed.add(chunk.removal(i))
    }
    let count = 0
    for (const ref of bucket.refs) {
      const chunk = this.#table.peekChunk(ref)
      for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
        const revision = chunk.revision(ordinal)
        if (removed.has(revision)) continue
        if (!isBefore({ position: chunk.position(ordinal), revision }, level)) count++
      }
    }
    return count
  }
}
