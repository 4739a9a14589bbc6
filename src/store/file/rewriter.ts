import { isBefore, type Place } from '../../timer/index.js'
import type { Batch } from './batch.js'
import { type Bucket, bucketIndexOf } from './bucket.js'
import type { RowTable } from './row-table.js'

// What one step reads: few rows where a bucket is packed anew, since everybody waits meanwhile; more where it is spread
// over finer ones, so that each of those gets chunks worth having.
const CLEAN_STEP_BYTES = 4 << 20
const CLEAN_STEP_ROWS = 5000
const LEAST_SPLIT_BYTES = 4 << 20
const MOST_SPLIT_BYTES = 32 << 20
const PART_BYTES = 8192

/** What of a bucket is to be rewritten, and into buckets of which width. */
export interface Rewrite {
  readonly bucket: Bucket
  readonly targetLevel: number
  /** Chunks that came later are not part of it. */
  readonly lastId: number
}

/**
 * Rewrites a bucket chunk by chunk, oldest first: live rows go into finer buckets, or packed anew into the same
 * one, dead and settled ones are left behind, and the chunk is removed in the same commit. Because a removal
 * never stands before the row it removes, those of a rewritten chunk have done their work and go too.
 */
export class Rewriter {
  readonly #table: RowTable

  constructor(table: RowTable) {
    this.#table = table
  }

  /** Spreads a heavy bucket over finer ones, so fine that none should be heavy again. */
  split(bucket: Bucket): Rewrite | undefined {
    const { heavyRows } = this.#table.tuning
    if (bucket.level === 0 || bucket.standing <= heavyRows) return undefined
    let targetLevel = bucket.level - 1
    let rows = bucket.standing / 64
    while (targetLevel > 0 && rows > heavyRows / 4) {
      targetLevel--
      rows /= 64
    }
    return this.#whole(bucket, targetLevel)
  }

  /** Packs a bucket anew. */
  clean(bucket: Bucket): Rewrite {
    return this.#whole(bucket, bucket.level)
  }

  /** Rewrites some chunks in this batch. Answers how many rows went, and whether more is to be done. */
  step(batch: Batch, rewrite: Rewrite, settledLevel: Place): { removed: number; more: boolean } {
    const { bucket, targetLevel, lastId } = rewrite
    const table = this.#table
    const { chunks } = table
    const levels = bucket.level - targetLevel
    const stepBytes = stepBytesOf(levels)
    const stepRows = levels === 0 ? CLEAN_STEP_ROWS : Infinity
    table.join(batch)
    table.seal()
    const refs: number[] = []
    let bytes = 0
    let rows = 0
    for (const ref of bucket.refs) {
      if (chunks.ids[ref]! > lastId || bytes >= stepBytes || rows >= stepRows) break
      refs.push(ref)
      bytes += chunks.bytes[ref]!
      rows += chunks.rows[ref]!
    }
    let removed = 0
    for (const ref of refs) removed += this.#rewriteChunk(ref, bucket, targetLevel, settledLevel)
    for (const ref of refs) table.removeChunk(batch, ref)
    table.seal()
    const next = bucket.refs[0]
    return { removed, more: next !== undefined && chunks.ids[next]! <= lastId }
  }

  #rewriteChunk(ref: number, bucket: Bucket, targetLevel: number, settledLevel: Place): number {
    const table = this.#table
    const { chunks } = table
    const chunk = table.peek(ref)
    const buckets = table.buckets[bucket.shard]!
    let removed = 0
    for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
      if (chunks.isDead(ref, ordinal)) continue
      const position = chunk.position(ordinal)
      if (isBefore({ position, revision: chunk.revision(ordinal) }, settledLevel)) {
        removed++
        continue
      }
      const target =
        targetLevel === bucket.level
          ? bucket
          : buckets.make(targetLevel, bucketIndexOf(targetLevel, position))
      table.copy(chunk, ref, ordinal, target)
    }
    return removed
  }

  #whole(bucket: Bucket, targetLevel: number): Rewrite {
    const { ids } = this.#table.chunks
    return { bucket, targetLevel, lastId: ids[bucket.refs.at(-1)!] ?? 0 }
  }
}

/** How much a step reads of a bucket that is spread over ones so many widths finer. */
function stepBytesOf(levels: number): number {
  if (levels === 0) return CLEAN_STEP_BYTES
  return Math.min(Math.max(LEAST_SPLIT_BYTES, 64 ** levels * PART_BYTES), MOST_SPLIT_BYTES)
}
