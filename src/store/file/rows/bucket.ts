import type { ChunkBuilder } from './chunk-builder.js'

/**
 * Time is cut into buckets of four widths, the bucket levels. Each is 64 times as wide as the finer one, so a bucket
 * covers exactly 64 of the next finer ones. A row goes into a bucket that is narrow against the row's distance from
 * now: fine buckets nearby, coarse ones far out. So the rows of one commit fall into at most about 16 buckets of each
 * width.
 */
export const bucketLayout = Object.freeze({ levels: 4, coarsest: 3 })

const widths: readonly number[] = [2 ** 12, 2 ** 18, 2 ** 24, 2 ** 30]

// From these distances on, a row goes into the next coarser level.
const NEAR = 2 ** 16
const MIDDLE = 2 ** 22
const FAR = 2 ** 28

export function widthOf(level: number): number {
  return widths[level]!
}

/** The bucket level for a row at this distance from now. */
export function levelForDistance(distanceMs: number): number {
  return distanceMs < NEAR ? 0 : distanceMs < MIDDLE ? 1 : distanceMs < FAR ? 2 : 3
}

/** The index of the bucket of this level that covers a position. */
export function bucketIndexOf(level: number, position: number): number {
  return Math.floor(position / widths[level]!)
}

/** A bucket that has chunks, with totals over them. */
export class Bucket {
  readonly shard: number
  readonly level: number
  readonly index: number
  readonly start: number
  readonly endExclusive: number
  /** The refs of its chunks, oldest first. */
  readonly refs: number[] = []
  /** Rows in its chunks, dead ones too. */
  rows = 0
  /** Rows that were cancelled, moved or replaced since they were written. */
  dead = 0
  /** The records of these removals. */
  removals = 0
  bytes = 0
  /** Whether its rows are in the key index and its dead rows are known. */
  isIndexed = true
  /** The settled level's position at the last repack. */
  repackedAt = 0
  /** The builder of its open chunk. */
  builder: ChunkBuilder | undefined = undefined

  constructor(shard: number, level: number, index: number) {
    this.shard = shard
    this.level = level
    this.index = index
    this.start = index * widthOf(level)
    this.endExclusive = this.start + widthOf(level)
  }

  /** Rows that are not dead. The settled level may have passed some of them. */
  get liveRows(): number {
    return this.rows - this.dead
  }
}
