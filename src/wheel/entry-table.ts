import { GrowingMemory } from './growing-memory.js'

/** The layout of an entry. Modules destructure it at their top, for speed (see `recordLayout`). */
export const entryLayout = Object.freeze({
  /** An entry is eight words (half a cache line), at eight times its place: a mark, a hash, and words of the key. */
  ENTRY_BITS: 3,
  HASH: 1,
  KEY: 2,
  KEY_WORDS: 6,
  /** The low bits of a mark: the index plus one. The bits above are the kind of the key. */
  MARKED: 2 ** 27 - 1,
  KIND_AT: 27,
  /** Every kind is below this. */
  KINDS: 31,
  /** The bits of a hash that say where in its segment a search begins. */
  IN_SEGMENT: 1023,
} as const)

const { ENTRY_BITS, HASH, MARKED, KIND_AT, KINDS, IN_SEGMENT } = entryLayout
const SEGMENT_BITS = 10
const SEGMENT_WORDS = (IN_SEGMENT + 1) << ENTRY_BITS
// The mark of a removed entry that searches for other keys still have to pass. No key has this kind.
const GONE = KINDS << KIND_AT
// A segment with this many used places is full. Removed entries count as used.
const FULL = 725
// A full segment with at least this many live entries is split. Otherwise it is rewritten without the removed ones.
const WORTH_SPLITTING = 550
const MAX_DEPTH = 19
const MAX_BYTES = 65_535 * 65_536
const SEGMENT_BYTES = SEGMENT_WORDS * 4
const FIRST_SEGMENTS = 16
const MAX_HASH_BYTES = 2 ** 29

/**
 * Entries by 32-bit hash. Each holds an index, the kind of a key and some of its words. It is an extendible hash table
 * that grows one segment at a time, so no operation waits for a rehash of the whole table. The words of the key are
 * next to the index, so that a look-up waits for memory once. The table does not compare keys. A caller that looks for
 * a key walks the places from where its hash points to the first mark that is 0.
 * Proven by test/wheel/entry-table.test.ts and test/wheel/key-table.test.ts.
 */
export class EntryTable {
  words: Int32Array

  readonly #maxSegments: number
  readonly #memory: GrowingMemory
  readonly #hashMemory = new GrowingMemory(MAX_HASH_BYTES)
  // The hash of each index.
  #hashes: Int32Array = new Int32Array(0)
  // The segment of each value of a hash's top `#depth` bits.
  #directory: Int32Array = new Int32Array(1)
  #depth = 0
  #segments = 1
  // The depth of each segment. It is a typed array, like everything here: V8 copies objects on its heap, in the middle
  // of a later tick.
  #depths: Int32Array = new Int32Array(FIRST_SEGMENTS)
  // How many marks of each segment are not 0.
  #used: Int32Array = new Int32Array(FIRST_SEGMENTS)

  constructor(maxBytes = MAX_BYTES) {
    this.#maxSegments = Math.floor(maxBytes / SEGMENT_BYTES)
    this.#memory = new GrowingMemory(maxBytes)
    this.words = new Int32Array(this.#memory.grow(SEGMENT_BYTES))
  }

  /** Allocates the memory for `count` entries and splits the segments in advance. Call it while the table is empty. */
  reserve(count: number): void {
    const most = Math.min(count / WORTH_SPLITTING, this.#maxSegments / 2)
    while (this.#directory.length < most) this.#doubleDirectory()
    const segments = this.#directory.length
    this.#noteSegments(segments)
    this.words = new Int32Array(this.#memory.reserve(segments * SEGMENT_BYTES))
    this.#hashes = new Int32Array(this.#hashMemory.reserve(count * 4))
    for (let segment = 0; segment < segments; segment++) this.#directory[segment] = segment
    this.#depths.fill(this.#depth)
  }

  /** The first place of the segment of a hash. */
  startOf(hash: number): number {
    return this.#segmentOf(hash) << SEGMENT_BITS
  }

  /**
   * Adds an entry for an index that has none, without the words of its key. Returns its place. Returns -1 if the
   * segment is full and cannot be split, because the hashes are too similar or memory has run out.
   */
  add(hash: number, kind: number, index: number): number {
    let segment = this.#segmentOf(hash)
    if (this.#used[segment]! >= FULL) {
      segment = this.#roomySegmentOf(hash)
      if (segment < 0) return -1
    }
    if (index >= this.#hashes.length) this.#hashes = new Int32Array(this.#hashMemory.grow((index + 1) * 4))
    this.#hashes[index] = hash
    const place = this.#freePlace(segment, hash)
    const { words } = this
    const at = place << ENTRY_BITS
    if (words[at] === 0) this.#used[segment]!++
    words[at] = (kind << KIND_AT) | (index + 1)
    words[at | HASH] = hash
    return place
  }

  /** The place of an index that has an entry. */
  placeOf(index: number): number {
    const { words } = this
    const hash = this.#hashes[index]!
    const start = this.startOf(hash)
    let place = start | (hash & IN_SEGMENT)
    for (;;) {
      const mark = words[place << ENTRY_BITS]!
      if ((mark & MARKED) === index + 1) return place
      if (mark === 0)
        throw new Error(`an index that should have an entry has none: index=${index} hash=${hash}`)
      place = start | ((place + 1) & IN_SEGMENT)
    }
  }

  /** The mark at which a search for an index begins. */
  firstMarkOf(index: number): number {
    const hash = this.#hashes[index] ?? 0
    return this.words[(this.startOf(hash) | (hash & IN_SEGMENT)) << ENTRY_BITS]!
  }

  isAt(place: number, index: number): boolean {
    return (this.words[place << ENTRY_BITS]! & MARKED) === index + 1
  }

  /** Removes the entry at a place. */
  removeAt(place: number): void {
    const { words } = this
    const start = place & ~IN_SEGMENT
    if (words[(start | ((place + 1) & IN_SEGMENT)) << ENTRY_BITS] !== 0) {
      words[place << ENTRY_BITS] = GONE
      return
    }
    // No search goes past this place, so it can be marked as never used. So can removed entries right before it.
    let at = place
    let emptied = 0
    do {
      words[at << ENTRY_BITS] = 0
      emptied++
      at = start | ((at - 1) & IN_SEGMENT)
    } while (words[at << ENTRY_BITS] === GONE)
    this.#used[place >>> SEGMENT_BITS]! -= emptied
  }

  #segmentOf(hash: number): number {
    // Two shifts, because a shift by 32 is a shift by 0.
    return this.#directory[(hash >>> 1) >>> (31 - this.#depth)]!
  }

  #freePlace(segment: number, hash: number): number {
    const { words } = this
    const start = segment << SEGMENT_BITS
    let place = start | (hash & IN_SEGMENT)
    while ((words[place << ENTRY_BITS]! & MARKED) !== 0) place = start | ((place + 1) & IN_SEGMENT)
    return place
  }

  /** The segment of a hash, after making room in it; -1 if there is no way to make room. */
  #roomySegmentOf(hash: number): number {
    let segment = this.#segmentOf(hash)
    while (this.#used[segment]! >= FULL) {
      if (this.#inUse(segment) < WORTH_SPLITTING) this.#rewrite(segment, segment)
      else if (this.#depths[segment] === MAX_DEPTH || this.#segments === this.#maxSegments) return -1
      else this.#split(segment, hash)
      segment = this.#segmentOf(hash)
    }
    return segment
  }

  #inUse(segment: number): number {
    const { words } = this
    const end = (segment + 1) * SEGMENT_WORDS
    let count = 0
    for (let at = segment * SEGMENT_WORDS; at < end; at += 1 << ENTRY_BITS) {
      if ((words[at]! & MARKED) !== 0) count++
    }
    return count
  }

  /** Splits the segment of a hash into two, by the next bit of the hashes in it. */
  #split(segment: number, hash: number): void {
    const sibling = this.#segments
    this.#noteSegments(sibling + 1)
    this.words = new Int32Array(this.#memory.grow((sibling + 1) * SEGMENT_BYTES))
    const depth = this.#depths[segment]! + 1
    if (depth > this.#depth) this.#doubleDirectory()
    this.#depths[segment] = depth
    this.#depths[sibling] = depth
    // Write before reading: a page of memory that is read first causes two page faults.
    this.words.fill(0, sibling * SEGMENT_WORDS, (sibling + 1) * SEGMENT_WORDS)
    this.#rewrite(segment, sibling)
    // The directory slots of the two segments are adjacent. The first half keeps the old segment.
    const half = 1 << (this.#depth - depth)
    const first = (((hash >>> 1) >>> (31 - this.#depth)) & ~(2 * half - 1)) + half
    this.#directory.fill(sibling, first, first + half)
  }

  /** Rewrites a segment without removed entries. Entries with the last bit of its depth go into the sibling. */
  #rewrite(segment: number, sibling: number): void {
    const { words } = this
    const start = segment << SEGMENT_BITS
    const shift = 32 - this.#depths[segment]!
    // Start after a place that was never used: then each entry's new place is at or before its old one.
    let first = start
    while (words[first << ENTRY_BITS] !== 0) first++
    let left = 0
    let moved = 0
    for (let k = 1; k <= IN_SEGMENT; k++) {
      const place = start | ((first + k) & IN_SEGMENT)
      const from = place << ENTRY_BITS
      const mark = words[from]!
      words[from] = 0
      if ((mark & MARKED) === 0) continue
      const hash = words[from | HASH]!
      const isMoved = (hash >>> shift) & 1
      moved += isMoved
      left++
      const to = this.#freePlace(isMoved === 0 ? segment : sibling, hash) << ENTRY_BITS
      words[to] = mark
      if (to !== from)
        for (let word = HASH; word < 1 << ENTRY_BITS; word++) words[to | word] = words[from | word]!
    }
    this.#used[segment] = left
    if (sibling === segment) return
    this.#used[segment] = left - moved
    this.#used[sibling] = moved
  }

  #noteSegments(segments: number): void {
    this.#segments = segments
    if (segments <= this.#depths.length) return
    this.#depths = withRoomFor(segments, this.#depths)
    this.#used = withRoomFor(segments, this.#used)
  }

  #doubleDirectory(): void {
    const before = this.#directory
    this.#directory = new Int32Array(before.length * 2)
    for (let i = 0; i < before.length; i++) {
      this.#directory[2 * i] = before[i]!
      this.#directory[2 * i + 1] = before[i]!
    }
    this.#depth++
  }
}

function withRoomFor(count: number, before: Int32Array): Int32Array {
  const after = new Int32Array(Math.max(count, before.length * 2))
  after.set(before)
  return after
}
