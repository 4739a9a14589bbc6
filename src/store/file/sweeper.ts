import type { Place } from '../../timer/index.js'
import type { Batch } from './batch.js'
import type { Bucket } from './bucket.js'
import type { Rewrite, Rewriter } from './rewriter.js'
import type { RowTable } from './row-table.js'

// What one sweep does at most, so that a commit stays short.
const MOST_CHUNKS = 4096
const SCRUBBED_SEGMENTS = 256

const SMALL_CHUNK_BYTES = 2048
// A bucket is split when it begins within this many of its own widths.
const NEAR_WIDTHS = 1 / 4
// Buckets narrower than this are not packed anew because the level has passed half of them: it takes minutes.
const LEAST_PASSED_LEVEL = 2
// The key index is freed of names that are gone when they are one in so many, and at least as many as this.
const SCRUBBED_SHARE = 3
const LEAST_SCRUBBED = 50_000

/**
 * Removes what the settled level has passed: whole buckets at once, and what is left over inside a bucket once it
 * is at least half of it, by packing the bucket anew. So the file holds little more than twice what lives.
 */
export class Sweeper {
  readonly #table: RowTable
  readonly #rewriter: Rewriter
  readonly #rewrites = new Map<number, Rewrite>()
  #retired: { readonly refs: readonly number[]; readonly rows: number } | undefined

  constructor(table: RowTable, rewriter: Rewriter) {
    this.#table = table
    this.#rewriter = rewriter
  }

  /** One bounded sweep of a shard. `moved` hears that rows now lie elsewhere. */
  sweep(
    batch: Batch,
    shard: number,
    settledLevel: Place,
    now: number,
    moved: () => void,
  ): { removed: number; more: boolean } {
    const table = this.#table
    table.join(batch)
    table.seal()
    // A ref that is used again must not be taken for the chunk it was.
    if (this.#scrub()) moved()
    const dropped = this.#dropSettled(batch, shard, settledLevel)
    if (dropped.more) return dropped
    const rewrite = this.#rewrites.get(shard) ?? this.#nextRewrite(shard, settledLevel, now)
    if (rewrite === undefined) return { removed: dropped.removed, more: false }
    rewrite.bucket.cleanedAt = settledLevel.position
    const { removed, more } = this.#rewriter.step(batch, rewrite, settledLevel)
    moved()
    if (more) this.#rewrites.set(shard, rewrite)
    else this.#rewrites.delete(shard)
    return { removed: dropped.removed + removed, more: true }
  }

  /** After a commit that failed nothing is as it was planned. */
  reset(): void {
    this.#rewrites.clear()
  }

  #dropSettled(batch: Batch, shard: number, level: Place): { removed: number; more: boolean } {
    const table = this.#table
    const buckets = table.buckets[shard]!
    let removed = 0
    let left = MOST_CHUNKS
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
      const isNear = bucket.start - now < NEAR_WIDTHS * (bucket.endExclusive - bucket.start)
      const split = isNear ? this.#rewriter.split(bucket) : undefined
      if (split !== undefined) return split
      if (this.#isLitter(bucket, level)) return this.#rewriter.clean(bucket)
    }
    return undefined
  }

  #isLitter(bucket: Bucket, level: Place): boolean {
    const { litterBytes, manyChunks } = this.#table.tuning
    const isWorthIt = bucket.bytes >= litterBytes
    // Rows, and the records of rows that are no more.
    if (isWorthIt && bucket.dead + bucket.removals > bucket.standing) return true
    if (bucket.standing === 0 && bucket.dead + bucket.removals >= manyChunks) return true
    // The level has passed half of what was left of it. A narrow one is soon dropped whole.
    const from = Math.max(bucket.start, bucket.cleanedAt)
    const isPassed =
      bucket.level >= LEAST_PASSED_LEVEL && level.position - from > (bucket.endExclusive - from) / 2
    if (isWorthIt && isPassed) return true
    return bucket.refs.length > manyChunks && bucket.bytes < SMALL_CHUNK_BYTES * bucket.refs.length
  }

  /** Frees the key index of chunks that are gone, so that their refs can be used again. */
  #scrub(): boolean {
    const { chunks, index } = this.#table
    if (this.#retired === undefined) {
      if (chunks.retiredRows < Math.max(LEAST_SCRUBBED, index.size / SCRUBBED_SHARE)) return false
      this.#retired = chunks.takeRetired()
    }
    if (!index.scrub(SCRUBBED_SEGMENTS, chunks.isPresent)) return false
    chunks.reuse(this.#retired.refs, this.#retired.rows)
    this.#retired = undefined
    return true
  }
}
