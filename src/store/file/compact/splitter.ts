import type { Place } from '../../../timer/index.js'
import type { Batch } from '../lmdb/batch.js'
import { firstBucket } from '../read/segment.js'
import type { Bucket } from '../rows/bucket.js'
import type { IndexBuilder } from '../rows/index-builder.js'
import type { RowTable } from '../rows/row-table.js'
import type { Rewriter } from './rewriter.js'

/** Splits the heavy buckets that a load is about to read, so that the load need not sort all of their rows. */
export class Splitter {
  readonly #table: RowTable
  readonly #rewriter: Rewriter
  readonly #index: IndexBuilder

  constructor(table: RowTable, rewriter: Rewriter, index: IndexBuilder) {
    this.#table = table
    this.#rewriter = rewriter
    this.#index = index
  }

  /** A heavy bucket among those that a load of this span reads first. */
  heavyBucket(shard: number, from: number, untilExclusive: number): Bucket | undefined {
    const buckets = this.#table.buckets[shard]
    if (buckets === undefined) return undefined
    const first = firstBucket(buckets, from)
    if (first === undefined || first.start >= untilExclusive) return undefined
    const start = Math.max(first.start, from)
    for (const bucket of buckets.overlapping(start, start + 1)) {
      if (this.#rewriter.planSplit(bucket) !== undefined) return bucket
    }
    return undefined
  }

  /** Splits a part of the bucket, without the finished rows before `keptFrom`. Returns false if it is not heavy after all. */
  split(batch: Batch, bucket: Bucket, keptFrom: Place): boolean {
    // Indexing finds the dead rows, and without them the bucket may not be heavy.
    this.#index.ensureIndexed(bucket)
    const plan = this.#rewriter.planSplit(bucket)
    if (plan === undefined) return false
    this.#rewriter.step(batch, plan, keptFrom)
    return true
  }
}
