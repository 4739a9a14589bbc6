import { isBefore, levelAt, type Place } from '../../../timer/index.js'
import { readDefaults } from '../defaults.js'
import { type Bucket, bucketIndexOf, bucketLayout, widthOf } from '../rows/bucket.js'
import type { BucketTable } from '../rows/bucket-table.js'
import type { Chunk } from '../rows/chunk.js'
import { placeOrder } from './place-order.js'
import type { RowTable } from '../rows/row-table.js'
import { SegmentRows } from './segment-rows.js'

const { maxKeptBytes } = readDefaults
const MIN_CAPACITY = 256

/**
 * The live rows of a stretch of time, in order: their locations, not their contents. It knows the first `segmentRows`
 * rows of its stretch, and ends where those end. `merge` adds rows that were written later. Rows that die later stay
 * in the segment, and the reader skips them.
 */
export class Segment {
  /** The segment has no rows before this place. */
  start: Place
  /** The segment knows every row from `start` up to here. */
  end: Place
  rows: SegmentRows
  /** The numbers of its rows, in order of their places. */
  order: Uint32Array = new Uint32Array(0)
  /** The chunks of its rows, by slot: their refs, and the chunks that are kept in memory. */
  readonly refs: number[] = []
  readonly chunks: (Chunk | undefined)[] = []
  readonly #table: RowTable
  #keepsChunks: boolean

  constructor(table: RowTable, start: Place, end: Place, keeps: boolean, capacity: number) {
    this.#table = table
    this.start = start
    this.end = end
    this.#keepsChunks = keeps
    this.rows = new SegmentRows(capacity)
  }

  /**
   * Builds the segment that begins at `level`. Returns undefined when no row follows. The segment is as wide as it can
   * be with at most `segmentRows` rows in finer buckets.
   */
  static from(
    table: RowTable,
    buckets: BucketTable,
    level: Place,
    keeps: boolean,
    ensureIndexed: (bucket: Bucket) => void,
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
      ensureIndexed(part)
      rows += part.liveRows
      bytes += part.bytes
    }
    const capacity = Math.max(MIN_CAPACITY, Math.min(rows, 2 * segmentRows))
    const isLight = bytes <= maxKeptBytes
    const segment = new Segment(table, level, levelAt(untilExclusive), keeps && isLight, capacity)
    const kept = new Map(before?.refs.map((ref, slot) => [ref, before.chunks[slot]]))
    for (const part of within) for (const ref of part.refs) segment.#scan(ref, kept.get(ref))
    segment.#sort(segmentRows)
    if (segment.size < segment.rows.size) segment.#dropUnusedChunks()
    return segment
  }

  get size(): number {
    return this.order.length
  }

  /** The chunk of a slot, kept or read again. */
  chunk(slot: number): Chunk {
    return this.chunks[slot] ?? this.#table.keepChunk(this.refs[slot]!)
  }

  /** Whether this row is dead by now. */
  isDead(number: number): boolean {
    const { rows, refs } = this
    return this.#table.chunks.isDead(refs[rows.slot(number)]!, rows.ordinal(number))
  }

  /** Adds the rows of new chunks, from `level` on. The first `passed` rows are before `level`. */
  merge(refs: readonly number[], passed: number, level: Place): void {
    // Rows before `level` go, so that the end of the segment cannot fall before it.
    this.start = level
    this.#keepOnly(this.order.subarray(passed))
    for (const ref of refs) if (this.#table.chunks.has(ref)) this.#scan(ref)
    this.#sort(2 * this.#table.tuning.segmentRows)
  }

  /** Adds the rows of a chunk. `kept` is the chunk, if the last segment has it. */
  #scan(ref: number, kept?: Chunk): void {
    const { chunks } = this.#table
    if (chunks.rows[ref] === chunks.dead[ref]) return
    const chunk = kept ?? (this.#keepsChunks ? this.#table.keepChunk(ref) : this.#table.peekChunk(ref))
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
        this.#keepOnly(this.order)
        // The stretch has more rows than the segment takes, so do not keep its chunks either.
        this.#keepsChunks = false
        end = this.end
        if (!isBefore({ position, revision }, end)) continue
      }
      isUsed = true
      this.rows.push(chunk, position, revision, slot, ordinal)
    }
    if (!isUsed) return
    this.refs.push(ref)
    this.chunks.push(this.#keepsChunks ? chunk : undefined)
  }

  /** Sorts the rows and ends the segment after the first `maxRows`. */
  #sort(maxRows: number): void {
    const { rows } = this
    const order = placeOrder(rows)
    if (maxRows < order.length) {
      const next = order[maxRows]!
      this.end = { position: rows.position(next), revision: rows.revision(next) }
    }
    this.order = order.subarray(0, maxRows)
  }

  /** Drops the chunks that have none of the segment's rows. */
  #dropUnusedChunks(): void {
    const isUsed = new Uint8Array(this.refs.length)
    for (const number of this.order) isUsed[this.rows.slot(number)] = 1
    for (let slot = 0; slot < isUsed.length; slot++) if (isUsed[slot] === 0) this.chunks[slot] = undefined
  }

  #keepOnly(numbers: Uint32Array): void {
    this.rows = this.rows.only(numbers)
  }
}

/** The earliest bucket with live rows that ends after `position`. */
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
        finer += bucket.liveRows
        if (finer > mostRows) break
      }
    }
    if (finer <= mostRows) return untilExclusive
  }
  return (bucketIndexOf(0, position) + 1) * widthOf(0)
}

/** Whether a bucket and a segment overlap in time. */
export function overlaps(segment: Segment, bucket: Bucket): boolean {
  return bucket.start <= segment.end.position && !isBefore(levelAt(bucket.endExclusive), segment.start)
}
