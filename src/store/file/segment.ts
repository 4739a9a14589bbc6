import { isBefore, levelAt, type Place } from '../../timer/index.js'
import { type Bucket, bucketIndexOf, bucketLayout, widthOf } from './bucket.js'
import type { BucketTable } from './bucket-table.js'
import type { Chunk } from './chunk.js'
import { placeOrder } from './place-order.js'
import type { RowTable } from './row-table.js'
import { SegmentRows } from './segment-rows.js'

// The heaviest stretch whose chunks it keeps whole.
const MOST_KEPT_BYTES = 64 << 20
const LEAST_CAPACITY = 256

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
  rows: SegmentRows
  /** The numbers of its rows, in the order of their places. */
  order: Uint32Array = new Uint32Array(0)
  /** The chunks its rows lie in, by slot: their refs, and those that are kept whole. */
  readonly refs: number[] = []
  readonly chunks: (Chunk | undefined)[] = []
  readonly #table: RowTable
  #keeps: boolean

  constructor(table: RowTable, start: Place, end: Place, keeps: boolean, capacity: number) {
    this.#table = table
    this.start = start
    this.end = end
    this.#keeps = keeps
    this.rows = new SegmentRows(capacity)
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
    const { segmentRows } = table.tuning
    const first = Math.max(bucket.start, level.position)
    const untilExclusive = endOfStretch(buckets, first, segmentRows)
    const within = [...buckets.overlapping(first, untilExclusive)]
    let rows = 0
    let bytes = 0
    for (const part of within) {
      ready(part)
      rows += part.standing
      bytes += part.bytes
    }
    const capacity = Math.max(LEAST_CAPACITY, Math.min(rows, 2 * segmentRows))
    const isLight = bytes <= MOST_KEPT_BYTES
    const segment = new Segment(table, level, levelAt(untilExclusive), keeps && isLight, capacity)
    const kept = new Map(before?.refs.map((ref, slot) => [ref, before.chunks[slot]]))
    for (const part of within) for (const ref of part.refs) segment.#scan(ref, kept.get(ref))
    segment.#sort(segmentRows)
    if (segment.size < segment.rows.size) segment.#letGo()
    return segment
  }

  get size(): number {
    return this.order.length
  }

  /** The chunk of a slot, as it was kept or read anew. */
  chunk(slot: number): Chunk {
    return this.chunks[slot] ?? this.#table.take(this.refs[slot]!)
  }

  /** Whether the row of this number is dead by now. */
  isDead(number: number): boolean {
    const { rows, refs } = this
    return this.#table.chunks.isDead(refs[rows.slot(number)]!, rows.ordinal(number))
  }

  /** Takes in the rows of chunks that came since, from `level` on. The first `passed` rows lie before it. */
  merge(refs: readonly number[], passed: number, level: Place): void {
    // Only from there on: where it ends must not come to lie before the level.
    this.start = level
    this.#only(this.order.subarray(passed))
    for (const ref of refs) if (this.#table.chunks.has(ref)) this.#scan(ref)
    this.#sort(2 * this.#table.tuning.segmentRows)
  }

  /** What an earlier segment kept need not be read again. */
  #scan(ref: number, kept?: Chunk): void {
    const { chunks } = this.#table
    if (chunks.rows[ref] === chunks.dead[ref]) return
    const chunk = kept ?? (this.#keeps ? this.#table.take(ref) : this.#table.peek(ref))
    const { start } = this
    const slot = this.refs.length
    let { end } = this
    let isUsed = false
    for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
      const position = chunk.position(ordinal)
      if (position < start.position || position > end.position) continue
      const revision = chunk.revision(ordinal)
      if (position === start.position && revision < start.revision) continue
      if (position === end.position && revision >= end.revision) continue
      if (chunks.isDead(ref, ordinal)) continue
      if (this.rows.size === 4 * this.#table.tuning.segmentRows) {
        this.#sort(this.#table.tuning.segmentRows)
        this.#only(this.order)
        // What it has no room for it need not keep either.
        this.#keeps = false
        end = this.end
        if (!isBefore({ position, revision }, end)) continue
      }
      isUsed = true
      this.rows.push(chunk, position, revision, slot, ordinal)
    }
    if (!isUsed) return
    this.refs.push(ref)
    this.chunks.push(this.#keeps ? chunk : undefined)
  }

  /** Puts the rows in order, and knows only the first of them. */
  #sort(most: number): void {
    const { rows } = this
    const order = placeOrder(rows)
    if (most < order.length) {
      const next = order[most]!
      this.end = { position: rows.position(next), revision: rows.revision(next) }
    }
    this.order = order.subarray(0, most)
  }

  /** Lets go of chunks that hold none of the rows it knows. */
  #letGo(): void {
    const isUsed = new Uint8Array(this.refs.length)
    for (const number of this.order) isUsed[this.rows.slot(number)] = 1
    for (let slot = 0; slot < isUsed.length; slot++) if (isUsed[slot] === 0) this.chunks[slot] = undefined
  }

  #only(numbers: Uint32Array): void {
    this.rows = this.rows.only(numbers)
  }
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
