import { isBefore, levelAt, type Place } from '../../timer/index.js'
import { type Bucket, bucketIndexOf, bucketLayout, widthOf } from './bucket.js'
import type { BucketTable } from './bucket-table.js'
import type { Chunk } from './chunk.js'
import { placeOrder } from './place-order.js'
import type { RowTable } from './row-table.js'

// The heaviest stretch whose chunks it keeps whole.
const MOST_KEPT_BYTES = 64 << 20

/**
 * The rows that stand in a stretch of time, in order: where they are, not what they hold. It knows the first
 * `segmentRows` of its stretch from its start on, and ends where those end. Rows that come later are merged in
 * with `merge`; rows that die meanwhile are still in it, and left out by whoever reads.
 */
export class Segment {
  /** Rows before it are not in it. */
  start: Place
  /** It knows every row from `start` up to here. */
  end: Place
  size = 0
  positions: Float64Array
  revisions: Float64Array
  refs: Uint32Array
  ordinals: Uint32Array
  /** Chunks kept whole, so that pages need not read them again. */
  readonly kept = new Map<number, Chunk>()
  readonly #table: RowTable
  #keeps: boolean

  constructor(table: RowTable, start: Place, end: Place, keeps: boolean) {
    this.#table = table
    this.start = start
    this.end = end
    this.#keeps = keeps
    this.positions = new Float64Array(256)
    this.revisions = new Float64Array(256)
    this.refs = new Uint32Array(256)
    this.ordinals = new Uint32Array(256)
  }

  /**
   * The segment that begins at `level`; undefined when there is no row from there on. It is as wide as it can be
   * without having to look at more than `segmentRows` rows in buckets finer than itself.
   */
  static from(
    table: RowTable,
    buckets: BucketTable,
    level: Place,
    keeps: boolean,
    ready: (bucket: Bucket) => void,
    before?: Segment,
  ): Segment | undefined {
    const bucket = firstBucket(buckets, level.position)
    if (bucket === undefined) return undefined
    const first = Math.max(bucket.start, level.position)
    const untilExclusive = endOfStretch(buckets, first, table.tuning.segmentRows)
    const segment = new Segment(table, level, levelAt(untilExclusive), keeps)
    const within = [...buckets.overlapping(first, untilExclusive)]
    if (within.reduce((sum, part) => sum + part.bytes, 0) > MOST_KEPT_BYTES) segment.#keeps = false
    for (const part of within) {
      ready(part)
      for (const ref of part.refs) segment.#scan(ref, before)
    }
    segment.#sort(table.tuning.segmentRows)
    segment.#letGo()
    return segment
  }

  /** Takes in the rows of chunks that came since, from `level` on. The first `passed` rows lie before it. */
  merge(refs: readonly number[], passed: number, level: Place): void {
    // Only from there on: where it ends must not come to lie before the level.
    this.start = level
    this.#drop(passed)
    for (const ref of refs) if (this.#table.chunks.has(ref)) this.#scan(ref)
    this.#sort(2 * this.#table.tuning.segmentRows)
  }

  /** What an earlier segment kept need not be read again. */
  #scan(ref: number, before?: Segment): void {
    const { chunks } = this.#table
    if (chunks.rows[ref] === chunks.dead[ref]) return
    const chunk = before?.kept.get(ref) ?? (this.#keeps ? this.#table.take(ref) : this.#table.peek(ref))
    const { start, end } = this
    let isUsed = false
    for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
      const position = chunk.position(ordinal)
      if (position < start.position || position > this.end.position) continue
      const revision = chunk.revision(ordinal)
      if (position === start.position && revision < start.revision) continue
      if (position === this.end.position && revision >= this.end.revision) continue
      if (chunks.isDead(ref, ordinal)) continue
      isUsed = true
      this.#push(position, revision, ref, ordinal)
    }
    if (isUsed && this.#keeps) {
      this.kept.set(ref, chunk)
    }
    if (end !== this.end) this.#keeps = false
  }

  #push(position: number, revision: number, ref: number, ordinal: number): void {
    if (this.size === this.positions.length) {
      const { segmentRows } = this.#table.tuning
      if (this.size < 4 * segmentRows) this.#grow()
      else {
        this.#sort(segmentRows)
        if (!isBefore({ position, revision }, this.end)) return
      }
    }
    const at = this.size++
    this.positions[at] = position
    this.revisions[at] = revision
    this.refs[at] = ref
    this.ordinals[at] = ordinal
  }

  /** Puts the rows in order, and keeps the first of them. */
  #sort(most: number): void {
    const order = placeOrder(this.positions, this.revisions, this.size)
    const size = Math.min(most, this.size)
    if (size < this.size) {
      const next = order[size]!
      this.end = { position: this.positions[next]!, revision: this.revisions[next]! }
    }
    const capacity = Math.max(256, this.positions.length)
    const positions = new Float64Array(capacity)
    const revisions = new Float64Array(capacity)
    const refs = new Uint32Array(capacity)
    const ordinals = new Uint32Array(capacity)
    for (let i = 0; i < size; i++) {
      const from = order[i]!
      positions[i] = this.positions[from]!
      revisions[i] = this.revisions[from]!
      refs[i] = this.refs[from]!
      ordinals[i] = this.ordinals[from]!
    }
    this.positions = positions
    this.revisions = revisions
    this.refs = refs
    this.ordinals = ordinals
    this.size = size
  }

  #drop(count: number): void {
    if (count === 0) return
    this.positions.copyWithin(0, count, this.size)
    this.revisions.copyWithin(0, count, this.size)
    this.refs.copyWithin(0, count, this.size)
    this.ordinals.copyWithin(0, count, this.size)
    this.size -= count
  }

  /** Lets go of chunks of which no row is left. */
  #letGo(): void {
    if (this.kept.size === 0) return
    const used = new Set(this.refs.subarray(0, this.size))
    for (const ref of this.kept.keys()) if (!used.has(ref)) this.kept.delete(ref)
  }

  #grow(): void {
    const capacity = 2 * this.positions.length
    this.positions = longer(this.positions, new Float64Array(capacity))
    this.revisions = longer(this.revisions, new Float64Array(capacity))
    this.refs = longer(this.refs, new Uint32Array(capacity))
    this.ordinals = longer(this.ordinals, new Uint32Array(capacity))
  }
}

function longer<Words extends Float64Array | Uint32Array>(before: Words, after: Words): Words {
  after.set(before)
  return after
}

/** The bucket that begins first of those with rows that stand and an end after `position`. */
export function firstBucket(buckets: BucketTable, position: number): Bucket | undefined {
  let first: Bucket | undefined
  for (let level = 0; level < bucketLayout.levels; level++) {
    const bucket = buckets.firstFrom(level, position)
    if (bucket !== undefined && (first === undefined || bucket.start < first.start)) first = bucket
  }
  return first
}

function endOfStretch(buckets: BucketTable, position: number, mostRows: number): number {
  for (let level = bucketLayout.coarsest; level > 0; level--) {
    const untilExclusive = (bucketIndexOf(level, position) + 1) * widthOf(level)
    let finer = 0
    for (let below = 0; below < level && finer <= mostRows; below++) {
      for (const bucket of buckets.within(below, position, untilExclusive)) {
        finer += bucket.standing
        if (finer > mostRows) break
      }
    }
    if (finer <= mostRows) return untilExclusive
  }
  return (bucketIndexOf(0, position) + 1) * widthOf(0)
}

/** Whether a bucket shares time with a segment. */
export function touches(segment: Segment, bucket: Bucket): boolean {
  return bucket.start <= segment.end.position && !isBefore(levelAt(bucket.endExclusive), segment.start)
}
