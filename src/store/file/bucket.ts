import type { ChunkBuilder } from './chunk-builder.js'

/**
 * Time is cut into buckets of four widths, each 64 times the one before, so that a bucket holds exactly 64 of
 * the next finer ones. A row is written into a bucket that is narrow against its distance from now: fine ones
 * near, coarse ones far out, at most some 16 of each width for the rows of one commit.
 */
export const bucketLayout = Object.freeze({ levels: 4, coarsest: 3 })

const widths: readonly number[] = [2 ** 12, 2 ** 18, 2 ** 24, 2 ** 30]

// A row this far off, or farther, goes into the next coarser width.
const NEAR = 2 ** 16
const MIDDLE = 2 ** 22
const FAR = 2 ** 28

export function widthOf(level: number): number {
  return widths[level]!
}

/** Which width a row at this distance from now is written with. */
export function levelForDistance(distanceMs: number): number {
  return distanceMs < NEAR ? 0 : distanceMs < MIDDLE ? 1 : distanceMs < FAR ? 2 : 3
}

/** The number of the bucket of this width that a position falls into. */
export function bucketIndexOf(level: number, position: number): number {
  return Math.floor(position / widths[level]!)
}

/** A bucket that has chunks, and what they hold. */
export class Bucket {
  readonly shard: number
  readonly level: number
  readonly index: number
  readonly start: number
  readonly endExclusive: number
  /** Its chunks, in the order in which they came. */
  readonly refs: number[] = []
  /** Rows in its chunks. */
  rows = 0
  /** Rows that were cancelled, moved or replaced since they were written. */
  dead = 0
  /** Records that say so. */
  removals = 0
  bytes = 0
  /** Whether its rows are in the key index and its dead rows are known. */
  isIndexed = true
  /** Where the settled level stood when it was last packed anew. */
  cleanedAt = 0
  /** What builds its next chunk. */
  builder: ChunkBuilder | undefined = undefined

  constructor(shard: number, level: number, index: number) {
    this.shard = shard
    this.level = level
    this.index = index
    this.start = index * widthOf(level)
    this.endExclusive = this.start + widthOf(level)
  }

  /** Rows that stand, unless the settled level has passed them. */
  get standing(): number {
    return this.rows - this.dead
  }
}
