import { Bucket, bucketIndexOf, bucketLayout } from './bucket.js'

/** The buckets of one shard that have chunks, by level and index, and in order of time. */
export class BucketTable {
  readonly #shard: number
  readonly #byIndex = Array.from({ length: bucketLayout.levels }, () => new Map<number, Bucket>())
  readonly #sorted: number[][] = Array.from({ length: bucketLayout.levels }, () => [])

  constructor(shard: number) {
    this.#shard = shard
  }

  get(level: number, index: number): Bucket | undefined {
    return this.#byIndex[level]!.get(index)
  }

  getOrCreate(level: number, index: number): Bucket {
    const byIndex = this.#byIndex[level]!
    let bucket = byIndex.get(index)
    if (bucket === undefined) {
      bucket = new Bucket(this.#shard, level, index)
      byIndex.set(index, bucket)
      const sorted = this.#sorted[level]!
      const at = firstNotBelow(sorted, index)
      if (at === sorted.length) sorted.push(index)
      else sorted.splice(at, 0, index)
    }
    return bucket
  }

  /** Forgets a bucket that has no chunk left. */
  drop(bucket: Bucket): void {
    const byIndex = this.#byIndex[bucket.level]!
    // A new bucket may have taken its place.
    if (byIndex.get(bucket.index) !== bucket) return
    byIndex.delete(bucket.index)
    const sorted = this.#sorted[bucket.level]!
    sorted.splice(firstNotBelow(sorted, bucket.index), 1)
  }

  /** The first bucket of a level that ends after `position` and has live rows. */
  firstFrom(level: number, position: number): Bucket | undefined {
    const sorted = this.#sorted[level]!
    for (let at = firstNotBelow(sorted, bucketIndexOf(level, position)); at < sorted.length; at++) {
      const bucket = this.#byIndex[level]!.get(sorted[at]!)!
      if (bucket.liveRows > 0) return bucket
    }
    return undefined
  }

  /** The buckets that overlap [from, untilExclusive), the coarse ones last. */
  *overlapping(from: number, untilExclusive: number): Generator<Bucket, void, undefined> {
    for (let level = 0; level < bucketLayout.levels; level++) yield* this.within(level, from, untilExclusive)
  }

  /** The buckets of one level that overlap [from, untilExclusive). */
  *within(level: number, from: number, untilExclusive: number): Generator<Bucket, void, undefined> {
    const sorted = this.#sorted[level]!
    for (let at = firstNotBelow(sorted, bucketIndexOf(level, from)); at < sorted.length; at++) {
      const bucket = this.#byIndex[level]!.get(sorted[at]!)!
      if (bucket.start >= untilExclusive) break
      yield bucket
    }
  }

  /** A copy of the list of buckets, so that the caller may drop some on the way. */
  all(): Bucket[] {
    return this.#sorted.flatMap((sorted, level) => sorted.map((index) => this.#byIndex[level]!.get(index)!))
  }
}

function firstNotBelow(sorted: readonly number[], index: number): number {
  if (sorted.length === 0 || sorted[sorted.length - 1]! < index) return sorted.length
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < index) low = middle + 1
    else high = middle
  }
  return low
}
