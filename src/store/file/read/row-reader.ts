import { comparePlaces, isBefore, levelAfter, levelAt, type Place } from '../../../timer/index.js'
import type { LoadRequest } from '../../store.js'
import type { Bucket } from '../rows/bucket.js'
import type { BucketTable } from '../rows/bucket-table.js'
import { FilePage } from './file-page.js'
import type { ChunkListener, RowTable } from '../rows/row-table.js'
import { firstBucket, Segment, overlaps } from './segment.js'

/**
 * Reads the rows of one shard in order, from a level on. It keeps the segment that it is in and merges chunks that are
 * added meanwhile. It starts a new segment when rows have moved, or when the read level has jumped.
 *
 * Proven by src/testing/store-contract/cases/timers/load.ts and the random model, which test/store/file/contract.test.ts runs,
 * and by test/store/file/failed-commit.test.ts.
 */
export class RowReader implements ChunkListener {
  readonly #table: RowTable
  readonly #shard: number
  readonly #buckets: BucketTable
  readonly #ensureIndexed: (bucket: Bucket) => void
  #segment: Segment | undefined
  #at = 0
  #level: Place = levelAt(0)
  readonly #added: number[] = []

  constructor(table: RowTable, shard: number, ensureIndexed: (bucket: Bucket) => void) {
    this.#table = table
    this.#shard = shard
    this.#buckets = table.buckets[shard]!
    this.#ensureIndexed = ensureIndexed
  }

  chunkAdded(bucket: Bucket, ref: number): void {
    const isNear = this.#segment !== undefined && overlaps(this.#segment, bucket)
    if (isNear && bucket.shard === this.#shard) this.#added.push(ref)
  }

  /** Drops the segment, because rows may have moved. */
  reset(): void {
    this.#segment = undefined
    this.#added.length = 0
  }

  /**
   * Loads a page from `level` on. `readLevel` is the level after its last row. `nextPosition` is at or before the next
   * row.
   */
  load(
    level: Place,
    request: LoadRequest,
  ): { page: FilePage; readLevel: Place; nextPosition: number | undefined } {
    const { untilExclusive, limit, limitBytes } = request
    const page = new FilePage(Math.min(limit, this.#mostRows(level, untilExclusive)))
    let readLevel = level
    let isFull = false
    for (;;) {
      const segment = this.#segmentAt(readLevel, untilExclusive)
      if (segment === undefined) break
      const { order, rows } = segment
      for (; this.#at < order.length; this.#at++) {
        const number = order[this.#at]!
        if (rows.position(number) >= untilExclusive) break
        if (segment.isDead(number)) continue
        if (page.size >= limit || (page.size > 0 && page.bytes >= limitBytes)) {
          isFull = true
          break
        }
        page.add(segment, number)
      }
      if (isFull) {
        const last = page.size - 1
        readLevel = levelAfter({ position: page.positions[last]!, revision: page.revisions[last]! })
        break
      }
      if (segment.end.position >= untilExclusive && this.#at < segment.size) break
      readLevel = segment.end
      if (readLevel.position >= untilExclusive) break
    }
    if (!isFull) readLevel = isBefore(level, levelAt(untilExclusive)) ? levelAt(untilExclusive) : level
    this.#level = readLevel
    return { page: page.close(), readLevel, nextPosition: this.#nextPosition(readLevel) }
  }

  /** The segment that covers `level`, with the reader at the first row that is not before it. */
  #segmentAt(level: Place, untilExclusive: number): Segment | undefined {
    const segment = this.#segment
    const isHere =
      segment !== undefined &&
      !isBefore(level, segment.start) &&
      isBefore(level, segment.end) &&
      comparePlaces(level, this.#level) >= 0
    if (!isHere) {
      this.reset()
      const first = firstBucket(this.#buckets, level.position)
      if (first === undefined || first.start >= untilExclusive) return undefined
      return this.#startSegment(level, segment)
    }
    if (this.#added.length > 0) {
      this.#skipTo(segment, level)
      segment.merge(this.#added, this.#at, level)
      this.#added.length = 0
      this.#at = 0
    }
    this.#level = level
    this.#skipTo(segment, level)
    return segment
  }

  #startSegment(level: Place, before: Segment | undefined): Segment | undefined {
    this.reset()
    this.#segment = Segment.from(this.#table, this.#buckets, level, true, this.#ensureIndexed, before)
    this.#at = 0
    this.#level = level
    return this.#segment
  }

  #skipTo({ order, rows }: Segment, level: Place): void {
    for (; this.#at < order.length; this.#at++) {
      const number = order[this.#at]!
      const position = rows.position(number)
      if (position > level.position) return
      if (position === level.position && rows.revision(number) >= level.revision) return
    }
  }

  #nextPosition(level: Place): number | undefined {
    let segment = this.#segmentAt(level, level.position + 1)
    for (let from = level; ;) {
      if (segment !== undefined) {
        for (; this.#at < segment.size; this.#at++) {
          const number = segment.order[this.#at]!
          if (!segment.isDead(number)) return segment.rows.position(number)
        }
        from = segment.end
      }
      const first = firstBucket(this.#buckets, from.position)
      if (first === undefined) return undefined
      this.#ensureIndexed(first)
      if (first.liveRows === 0) continue
      // The bucket begins later and has live rows, none of them before its start.
      if (first.start >= from.position) return first.start
      segment = this.#startSegment(from, segment)
      // There is no row between the level and the segment's start, so rows added there belong to the segment.
      if (segment !== undefined) segment.start = level
      this.#level = level
    }
  }

  #mostRows(level: Place, untilExclusive: number): number {
    let most = 0
    for (const bucket of this.#buckets.overlapping(level.position, untilExclusive)) most += bucket.rows
    return most
  }
}
