import { isBefore, type Place } from '../../../timer/index.js'
import { rewriteDefaults } from '../defaults.js'
import type { Batch } from '../lmdb/batch.js'
import { type Bucket, bucketIndexOf } from '../rows/bucket.js'
import type { RowTable } from '../rows/row-table.js'

const { repackStepBytes, repackStepRows, minSplitStepBytes, maxSplitStepBytes, splitPartBytes } =
  rewriteDefaults

/** A plan: which chunks of a bucket to rewrite, and into buckets of which level. */
export interface Rewrite {
  readonly bucket: Bucket
  readonly targetLevel: number
  /** Later chunks are not part of the plan. */
  readonly lastId: number
}

/**
 * Rewrites a bucket chunk by chunk, oldest first. Live rows go into finer buckets, or repacked into the same one. Dead
 * and settled rows are left out. The same commit removes the old chunk.
 *
 * Removal records of a rewritten chunk are dropped too. A removal is never in an older chunk than its row, so by then
 * the row is gone.
 */
export class Rewriter {
  readonly #table: RowTable

  constructor(table: RowTable) {
    this.#table = table
  }

  /** Plans to spread a heavy bucket over finer ones, so fine that none should be heavy again. */
  planSplit(bucket: Bucket): Rewrite | undefined {
    const { heavyRows } = this.#table.tuning
    if (bucket.level === 0 || bucket.liveRows <= heavyRows) return undefined
    let targetLevel = bucket.level - 1
    let rows = bucket.liveRows / 64
    while (targetLevel > 0 && rows > heavyRows / 4) {
      targetLevel--
      rows /= 64
    }
    return this.#planOf(bucket, targetLevel)
  }

  /** Plans to repack a bucket. */
  planRepack(bucket: Bucket): Rewrite {
    return this.#planOf(bucket, bucket.level)
  }

  /** Rewrites some chunks in this batch. Returns how many settled rows it removed, and whether chunks are left. */
  step(batch: Batch, rewrite: Rewrite, keptFrom: Place): { removed: number; more: boolean } {
    const { bucket, targetLevel, lastId } = rewrite
    const table = this.#table
    const { chunks } = table
    const levels = bucket.level - targetLevel
    const stepBytes = stepBytesOf(levels)
    const stepRows = levels === 0 ? repackStepRows : Infinity
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
    for (const ref of refs) removed += this.#rewriteChunk(ref, bucket, targetLevel, keptFrom)
    for (const ref of refs) table.removeChunk(batch, ref)
    table.seal()
    const next = bucket.refs[0]
    return { removed, more: next !== undefined && chunks.ids[next]! <= lastId }
  }

  #rewriteChunk(ref: number, bucket: Bucket, targetLevel: number, keptFrom: Place): number {
    const table = this.#table
    const { chunks } = table
    const chunk = table.peekChunk(ref)
    const buckets = table.buckets[bucket.shard]!
    let removed = 0
    for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
      if (chunks.isDead(ref, ordinal)) continue
      const position = chunk.position(ordinal)
      if (isBefore({ position, revision: chunk.revision(ordinal) }, keptFrom)) {
        removed++
        continue
      }
      const target =
        targetLevel === bucket.level
          ? bucket
          : buckets.getOrCreate(targetLevel, bucketIndexOf(targetLevel, position))
      table.copy(chunk, ref, ordinal, target)
    }
    return removed
  }

  #planOf(bucket: Bucket, targetLevel: number): Rewrite {
    const { ids } = this.#table.chunks
    return { bucket, targetLevel, lastId: ids[bucket.refs.at(-1)!] ?? 0 }
  }
}

/** How many bytes a step reads when it splits a bucket into ones that are `levels` finer. */
function stepBytesOf(levels: number): number {
  if (levels === 0) return repackStepBytes
  return Math.min(Math.max(minSplitStepBytes, 64 ** levels * splitPartBytes), maxSplitStepBytes)
}
