import { GrowingMemory } from './growing-memory.js'

/** How an entry is laid out. Taken apart by the modules that use it, for speed (see `recordLayout`). */
export const entryLayout = Object.freeze({
  /** An entry is eight words, half a cache line, at eight times its place: a mark, a hash, and words of the key. */
  ENTRY_BITS: 3,
  HASH: 1,
  KEY: 2,
  KEY_WORDS: 6,
  /** The bits of a mark that are an index and one. Those above are the kind of the key. */
  MARKED: 2 ** 27 - 1,
  KIND_AT: 27,
  /** Kinds are below this. */
  KINDS: 31,
  /** The place where a search begins is in the segment of a hash, by these of its bits. */
  IN_SEGMENT: 1023,
} as const)

const { ENTRY_BITS, HASH, MARKED, KIND_AT, KINDS, IN_SEGMENT } = entryLayout
const SEGMENT_BITS = 10
const SEGMENT_WORDS = (IN_SEGMENT + 1) << ENTRY_BITS
// The mark of an entry that was taken out, while a search for others may have to go past it: no key is of its kind.
const GONE = KINDS << KIND_AT
// A segment gets room when so many of its places are used: by a split if so many still are, else by leaving out the rest.
const FULL = 725
const WORTH_SPLITTING = 550
const MAX_DEPTH = 19
const MAX_BYTES = 65_535 * 65_536
const SEGMENT_BYTES = SEGMENT_WORDS * 4
const FIRST_SEGMENTS = 16
const MAX_HASH_BYTES = 2 ** 29

/**
 * Entries by 32-bit hashes, each an index and the kind and some words of a key: an extendible hash table that grows one segment at
 * a time, so no operation ever waits for a rehash of the whole. The words are beside the index, not behind it, so that
 * a look-up waits for memory once. It does not compare keys: whoever looks for one walks the places from where its hash
 * says up to the first mark that is 0.
 */
export class EntryTable {
  words: Int32Array

  readonly #maxSegments: number
  readonly #memory: GrowingMemory
  readonly #hashMemory = new GrowingMemory(MAX_HASH_BYTES)
  // By index.
  #hashes: Int32Array = new Int32Array(0)
  // The segment of a hash, by its top `#depth` bits.
  #directory: Int32Array = new Int32Array(1)
  #depth = 0
  #segments = 1
  // By segment, in typed arrays, as all else here: what is on V8's heap is copied in the middle of a later tick.
  #depths: Int32Array = new Int32Array(FIRST_SEGMENTS)
  // The places of a segment whose mark is not 0.
  #used: Int32Array = new Int32Array(FIRST_SEGMENTS)

  constructor(maxBytes = MAX_BYTES) {
    this.#maxSegments = Math.floor(maxBytes / SEGMENT_BYTES)
    this.#memory = new GrowingMemory(maxBytes)
    this.words = new Int32Array(this.#memory.grow(SEGMENT_BYTES))
  }

  /** Takes the memory for `count` entries, and parts the segments, beforehand. To be called while it is empty. */
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
   * Adds the entry of an index that is not there, without the words of its key; answers its place, or -1 when its
   * segment is full of others that cannot be parted from it, for the likeness of their hashes or for want of memory.
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

  /** The place of an index that is there. */
  placeOf(index: number): number {
    const { words } = this
    const hash = this.#hashes[index]!
    const start = this.startOf(hash)
    let place = start | (hash & IN_SEGMENT)
    for (;;) {
      const mark = words[place << ENTRY_BITS]!
      if ((mark & MARKED) === index + 1) return place
      if (mark === 0)
        throw new Error(`no entry of an index that should have one: index=${index} hash=${hash}`)
      place = start | ((place + 1) & IN_SEGMENT)
    }
  }

  /** The mark where a search for an index begins. */
  firstMarkOf(index: number): number {
    const hash = this.#hashes[index] ?? 0
    return this.words[(this.startOf(hash) | (hash & IN_SEGMENT)) << ENTRY_BITS]!
  }

  isAt(place: number, index: number): boolean {
    return (this.words[place << ENTRY_BITS]! & MARKED) === index + 1
  }

  /** Takes out the entry at a place. */
  removeAt(place: number): void {
    const { words } = this
    const start = place & ~IN_SEGMENT
    if (words[(start | ((place + 1) & IN_SEGMENT)) << ENTRY_BITS] !== 0) {
      words[place << ENTRY_BITS] = GONE
      return
    }
    // No search goes past it: it can be as never used, and so can those right before it that are gone.
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
    // In two steps, because a shift by 32 is a shift by 0.
    return this.#directory[(hash >>> 1) >>> (31 - this.#depth)]!
  }

  #freePlace(segment: number, hash: number): number {
    const { words } = this
    const start = segment << SEGMENT_BITS
    let place = start | (hash & IN_SEGMENT)
    while ((words[place << ENTRY_BITS]! & MARKED) !== 0) place = start | ((place + 1) & IN_SEGMENT)
    return place
  }

  /** The segment of a hash, after making room in it; -1 when that does not help. */
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

  /** Makes two segments of that of a hash, by the next bit of their hashes. */
  #split(segment: number, hash: number): void {
    const sibling = this.#segments
    this.#noteSegments(sibling + 1)
    this.words = new Int32Array(this.#memory.grow((sibling + 1) * SEGMENT_BYTES))
    const depth = this.#depths[segment]! + 1
    if (depth > this.#depth) this.#doubleDirectory()
    this.#depths[segment] = depth
    this.#depths[sibling] = depth
    // Written first: memory that is read before it is written has to be given by the machine twice.
    this.words.fill(0, sibling * SEGMENT_WORDS, (sibling + 1) * SEGMENT_WORDS)
    this.#rewrite(segment, sibling)
    // What leads to the two stands together: the first half of it stays.
    const half = 1 << (this.#depth - depth)
    const first = (((hash >>> 1) >>> (31 - this.#depth)) & ~(2 * half - 1)) + half
    this.#directory.fill(sibling, first, first + half)
  }

  /** Puts the entries of a segment anew, without those gone, and those with the last bit of its depth into the sibling. */
  #rewrite(segment: number, sibling: number): void {
    const { words } = this
    const start = segment << SEGMENT_BITS
    const shift = 32 - this.#depths[segment]!
    // From behind a place that was never used, so that each finds its new place before or at its old one.
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
