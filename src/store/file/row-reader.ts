import { comparePlaces, isBefore, levelAfter, levelAt, type Place } from '../../timer/index.js'
import type { LoadRequest } from '../store.js'
import type { Bucket } from './bucket.js'
import type { BucketTable } from './bucket-table.js'
import { FilePage } from './file-page.js'
import type { ChunkListener, RowTable } from './row-table.js'
import { firstBucket, Segment, touches } from './segment.js'

/**
 * Reads the rows of one shard in order from a level on. It keeps the segment it stands in, hears of chunks that
 * come, and begins anew when rows were moved about or the level went elsewhere.
 */
export class RowReader implements ChunkListener {
  readonly #table: RowTable
  readonly #shard: number
  readonly #buckets: BucketTable
  readonly #ready: (bucket: Bucket) => void
  #segment: Segment | undefined
  #at = 0
  #level: Place = levelAt(0)
  readonly #added: number[] = []

  constructor(table: RowTable, shard: number, ready: (bucket: Bucket) => void) {
    this.#table = table
    this.#shard = shard
    this.#buckets = table.buckets[shard]!
    this.#ready = ready
  }

  chunkAdded(bucket: Bucket, ref: number): void {
    const isNear = this.#segment !== undefined && touches(this.#segment, bucket)
    if (isNear && bucket.shard === this.#shard) this.#added.push(ref)
  }

  /** Forgets where rows are. */
  reset(): void {
    this.#segment = undefined
    this.#added.length = 0
  }

  /** The rows from `level` on that a request asks for, the level after them, and no later than the next row. */
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

  /** The segment that holds `level`, with the reader at the first row not before it. */
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
      return this.#begin(level, segment)
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

  #begin(level: Place, before: Segment | undefined): Segment | undefined {
    this.reset()
    this.#segment = Segment.from(this.#table, this.#buckets, level, true, this.#ready, before)
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
      this.#ready(first)
      if (first.standing === 0) continue
      // It begins later and has rows that stand, none of them before its start.
      if (first.start >= from.position) return first.start
      segment = this.#begin(from, segment)
      // There is nothing between the level and where it begins; what comes there belongs to it.
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
