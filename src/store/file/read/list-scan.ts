import { comparePlaces, isBefore, type Place, type TimerRow } from '../../../timer/index.js'
import { type RowSource, rowOf } from '../rows/chunk.js'
import type { RowTable } from '../rows/row-table.js'
import type { ListedChunk, ListStretch } from './list-stretch.js'
import type { RowMatcher } from './row-matcher.js'

/** A row that matched, and where it was. */
interface Match extends Place, ListedChunk {
  readonly ordinal: number
}

/** What a scan has found. */
export interface Scanned {
  readonly rows: TimerRow[]
  readonly next: Place | undefined
  /** How many rows it looked at. */
  readonly looked: number
  /** About how many of them are before `next`. */
  readonly passed: number
}

/**
 * Looks for the first `most` matching rows of a stretch, from `level` on. The chunks are read some at a time, in any
 * order. Other calls may change rows between two steps: `finish` reads what was written meanwhile, in one step, and
 * leaves out what has gone.
 */
export class ListScan {
  readonly #table: RowTable
  readonly #shard: number
  readonly #level: Place
  readonly #stretch: ListStretch
  readonly #matcher: RowMatcher
  readonly #most: number
  #next = 0
  #looked = 0
  #inRange = 0
  #matched = 0
  #matches: Match[] = []
  // Only rows before it can be among the first `most`.
  #end: Place

  constructor(
    table: RowTable,
    shard: number,
    level: Place,
    stretch: ListStretch,
    matcher: RowMatcher,
    most: number,
  ) {
    this.#table = table
    this.#shard = shard
    this.#level = level
    this.#stretch = stretch
    this.#matcher = matcher
    this.#most = most
    this.#end = { position: stretch.untilExclusive, revision: 0 }
  }

  /** Reads chunks with about `rows` rows. False when it has read all of them. */
  step(rows: number): boolean {
    const { chunks } = this.#stretch
    this.#table.dropPeeked()
    for (let looked = 0; looked < rows && this.#next < chunks.length; this.#next++) {
      const chunk = chunks[this.#next]!
      if (this.#isThere(chunk)) looked += ROWS_PER_CHUNK + this.#scan(chunk)
    }
    return this.#next < chunks.length
  }

  /** The rows that were found, in order, and where the list goes on: behind the stretch, or at a row that is left. */
  finish(): Scanned {
    const table = this.#table
    const { untilExclusive, lastId } = this.#stretch
    table.dropPeeked()
    for (const bucket of table.buckets[this.#shard]!.overlapping(this.#level.position, untilExclusive)) {
      for (let at = bucket.refs.length - 1; at >= 0; at--) {
        const ref = bucket.refs[at]!
        const id = table.chunks.ids[ref]!
        if (id <= lastId) break
        if (this.#matcher.mayMatch(table.chunks, ref, bucket.start, bucket.endExclusive))
          this.#scan({ ref, id })
      }
    }
    this.#truncate(this.#most + 1)
    const left = this.#matches[this.#most]
    const next = left ?? (untilExclusive === Infinity ? undefined : { position: untilExclusive, revision: 0 })
    const rows: TimerRow[] = []
    for (const match of this.#matches.slice(0, this.#most)) {
      const isLive = this.#isThere(match) && !table.chunks.isDead(match.ref, match.ordinal)
      if (isLive) rows.push(rowOf(table.source(match.ref), match.ordinal, true))
    }
    const looked = this.#looked
    // Rows that match are about as frequent before `next` as behind it.
    const passed =
      left === undefined ? this.#inRange : Math.ceil((this.#inRange * this.#most) / this.#matched)
    return { rows, next: next && { position: next.position, revision: next.revision }, looked, passed }
  }

  #isThere({ ref, id }: ListedChunk): boolean {
    const { chunks } = this.#table
    return chunks.isAttached[ref] === 1 && chunks.ids[ref] === id
  }

  /** Adds the matching rows of a chunk. Returns how many rows the chunk has. */
  #scan({ ref, id }: ListedChunk): number {
    const source: RowSource = this.#table.source(ref)
    const { chunks } = this.#table
    const matcher = this.#matcher
    const level = this.#level
    matcher.begin(source)
    for (let ordinal = 0; ordinal < source.rows; ordinal++) {
      const position = source.position(ordinal)
      if (position < level.position || position >= this.#stretch.untilExclusive) continue
      if (position === level.position && source.revision(ordinal) < level.revision) continue
      this.#inRange++
      if (!matcher.matches(source, ordinal) || chunks.isDead(ref, ordinal)) continue
      this.#matched++
      const match = { position, revision: source.revision(ordinal), ref, id, ordinal }
      if (!isBefore(match, this.#end)) continue
      this.#matches.push(match)
      if (this.#matches.length >= 2 * this.#most + MATCHES_BETWEEN_SORTS) this.#truncate(this.#most + 1)
    }
    this.#looked += source.rows
    return source.rows
  }

  /** Sorts the matches, and keeps the first `count`. */
  #truncate(count: number): void {
    // A row that was copied to another chunk is found twice. The chunk with the later id has it now.
    const sorted = this.#matches.toSorted((a, b) => comparePlaces(a, b) || b.id - a.id)
    const matches = sorted.filter((match, i) => i === 0 || comparePlaces(match, sorted[i - 1]!) !== 0)
    if (matches.length > count) matches.length = count
    // The last one stays: it is where the next page begins.
    if (matches.length === count) {
      const { position, revision } = matches[count - 1]!
      this.#end = { position, revision: revision + 1 }
    }
    this.#matches = matches
  }
}

/** What a chunk costs beside its rows, in rows. */
const ROWS_PER_CHUNK = 50
const MATCHES_BETWEEN_SORTS = 1024
