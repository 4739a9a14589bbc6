import { firstPlace, type Place } from '../../../timer/index.js'
import type { Swept } from '../../store.js'
import { sweepDefaults } from '../defaults.js'
import type { Batch } from '../lmdb/batch.js'
import type { Bucket } from '../rows/bucket.js'
import type { Rewrite, Rewriter } from './rewriter.js'
import type { RowTable } from '../rows/row-table.js'

const {
  maxDroppedChunks,
  minPassedLevel,
  minScrubbedNames,
  nearWidths,
  scrubbedSegments,
  scrubRatio,
  smallChunkBytes,
} = sweepDefaults

/**
 * Removes finished rows that need not be kept. It drops whole buckets at once. It repacks a bucket when at least half of
 * it is garbage, so the file holds little more than twice the live rows.
 *
 * Proven by `npm run soak`, of which test/store/chaos.test.ts runs a short one, and test/front/file-growth.test.ts.
 */
export class Sweeper {
  readonly #table: RowTable
  readonly #rewriter: Rewriter
  readonly #rewrites = new Map<number, Rewrite>()
  readonly #keptFrom = new Map<number, Place>()
  #scrubbing: { readonly refs: readonly number[]; readonly rows: number } | undefined

  constructor(table: RowTable, rewriter: Rewriter) {
    this.#table = table
    this.#rewriter = rewriter
  }

  /** Finished rows before this place are not kept when a bucket of the shard is rewritten. */
  keptFrom(shard: number): Place {
    return this.#keptFrom.get(shard) ?? firstPlace
  }

  /** Sweeps a bounded part of a shard. It calls `onRowsMoved` when rows have moved to other chunks. */
  sweep(
    batch: Batch,
    shard: number,
    { below, settledLevel }: { readonly below: Place; readonly settledLevel: Place },
    now: number,
    onRowsMoved: () => void,
  ): Swept {
    const table = this.#table
    table.join(batch)
    table.seal()
    // A scrub lets refs be reused, and readers must not mistake the new chunk for the old one.
    if (this.#scrub()) onRowsMoved()
    this.#keptFrom.set(shard, below)
    const dropped = this.#dropSettled(batch, shard, below)
    if (dropped.more) return dropped
    const rewrite = this.#rewrites.get(shard) ?? this.#nextRewrite(shard, settledLevel, now)
    if (rewrite === undefined) return { removed: dropped.removed, more: false }
    rewrite.bucket.repackedAt = settledLevel.position
    const { removed, more } = this.#rewriter.step(batch, rewrite, below)
    onRowsMoved()
    if (more) this.#rewrites.set(shard, rewrite)
    else this.#rewrites.delete(shard)
    return { removed: dropped.removed + removed, more: true }
  }

  /** Drops the plans: after a failed commit they no longer match the chunks. */
  reset(): void {
    this.#rewrites.clear()
  }

  #dropSettled(batch: Batch, shard: number, level: Place): Swept {
    const table = this.#table
    const buckets = table.buckets[shard]!
    let removed = 0
    let left = maxDroppedChunks
    for (const bucket of buckets.overlapping(0, level.position)) {
      if (bucket.endExclusive > level.position) continue
      for (const ref of bucket.refs.slice()) {
        if (left-- === 0) return { removed, more: true }
        removed += table.chunks.rows[ref]! - table.chunks.dead[ref]!
        table.removeChunk(batch, ref)
      }
      batch.onCommitted(() => {
        if (bucket.refs.length === 0) buckets.drop(bucket)
      })
    }
    return { removed, more: false }
  }

  #nextRewrite(shard: number, level: Place, now: number): Rewrite | undefined {
    for (const bucket of this.#table.buckets[shard]!.all()) {
      if (bucket.refs.length === 0 || bucket.endExclusive <= level.position) continue
      const isNear = bucket.start - now < nearWidths * (bucket.endExclusive - bucket.start)
      const split = isNear ? this.#rewriter.planSplit(bucket) : undefined
      if (split !== undefined) return split
      if (this.#isWorthRepacking(bucket, level)) return this.#rewriter.planRepack(bucket)
    }
    return undefined
  }

  #isWorthRepacking(bucket: Bucket, level: Place): boolean {
    const { litterBytes, manyChunks } = this.#table.tuning
    const isWorthIt = bucket.bytes >= litterBytes
    // Garbage is dead rows and the removal records of dead rows.
    if (isWorthIt && bucket.dead + bucket.removals > bucket.liveRows) return true
    if (bucket.liveRows === 0 && bucket.dead + bucket.removals >= manyChunks) return true
    // The settled level has passed half of what the last repack left. A narrow bucket is soon dropped whole.
    const from = Math.max(bucket.start, bucket.repackedAt)
    const isPassed =
      bucket.level >= minPassedLevel && level.position - from > (bucket.endExclusive - from) / 2
    if (isWorthIt && isPassed) return true
    return bucket.refs.length > manyChunks && bucket.bytes < smallChunkBytes * bucket.refs.length
  }

  /**
   * Removes the entries of retired chunks from the key index, a part at each sweep. Returns true when a round is
   * complete: then the refs of those chunks can be reused.
   */
  #scrub(): boolean {
    const { chunks, index } = this.#table
    if (this.#scrubbing === undefined) {
      if (chunks.retiredRows < Math.max(minScrubbedNames, index.size / scrubRatio)) return false
      this.#scrubbing = chunks.takeRetired()
    }
    if (!index.scrub(scrubbedSegments, chunks.isPresent)) return false
    chunks.reuse(this.#scrubbing.refs, this.#scrubbing.rows)
    this.#scrubbing = undefined
    return true
  }
}
