import { LimitError } from '../../error/index.js'

// A segment has 4096 entries of (low, high, ref + 1, ordinal), found by linear probing.
const SEGMENT_ENTRIES = 4096
const ENTRY_MASK = SEGMENT_ENTRIES - 1
const SEGMENT_FULL = 2900
const SEGMENT_LIMIT = 4000
const MAX_DEPTH = 22

interface HashSegment {
  readonly words: Int32Array
  count: number
  depth: number
}

/**
 * Maps 64 bits of a timer's name to the location of its row: the ref of its chunk, and its ordinal there. It is an
 * extendible hash table that grows one segment at a time and takes 22 to 45 bytes per entry. Several names may share
 * their 64 bits, so the caller compares the name in the row and goes on with `next` until it matches.
 */
export class KeyIndex {
  size = 0
  /** The location at the cursor, where `first` or `next` stopped. */
  ref = -1
  ordinal = 0

  #directory: HashSegment[] = [newSegment(0)]
  #depth = 0
  #segments: HashSegment[] = [...this.#directory]
  #at = 0
  #found: HashSegment = this.#segments[0]!
  #low = 0
  #high = 0
  #scrubbed = 0

  get bytes(): number {
    return this.#segments.length * SEGMENT_ENTRIES * 16 + this.#directory.length * 8
  }

  /** Moves the cursor to the first entry with these bits. Returns false if there is none. */
  first(low: number, high: number): boolean {
    this.#low = low
    this.#high = high
    this.#found = this.#segmentOf(high)
    return this.#probe((low & ENTRY_MASK) << 2)
  }

  /** Moves the cursor to the next entry with the same bits. */
  next(): boolean {
    return this.#probe(after(this.#at))
  }

  /** Moves the cursor to the entry with these bits and this location. Returns false if there is none. */
  firstOf(low: number, high: number, ref: number, ordinal: number): boolean {
    for (let isThere = this.first(low, high); isThere; isThere = this.next()) {
      if (this.ref === ref && this.ordinal === ordinal) return true
    }
    return false
  }

  /** Changes the location of the entry at the cursor. */
  replace(ref: number, ordinal: number): void {
    this.#found.words[this.#at + 2] = ref + 1
    this.#found.words[this.#at + 3] = ordinal
  }

  /** Adds an entry for the bits that `first` or `next` has just not found. */
  add(ref: number, ordinal: number): void {
    this.size++
    let segment = this.#found
    if (segment.count < SEGMENT_FULL) {
      // The search ended at the gap where the entry belongs.
      const { words } = segment
      const at = this.#at
      segment.count++
      words[at] = this.#low
      words[at + 1] = this.#high
      words[at + 2] = ref + 1
      words[at + 3] = ordinal
      return
    }
    while (segment.count >= SEGMENT_FULL && segment.depth < MAX_DEPTH) {
      this.#split(segment)
      segment = this.#segmentOf(this.#high)
    }
    if (segment.count >= SEGMENT_LIMIT) {
      this.size--
      throw new LimitError(
        'store-full',
        `more than ${SEGMENT_LIMIT} names have the same hash in the key index`,
      )
    }
    insert(segment, this.#low, this.#high, ref + 1, ordinal)
  }

  insert(low: number, high: number, ref: number, ordinal: number): void {
    for (let isThere = this.first(low, high); isThere;) isThere = this.next()
    this.add(ref, ordinal)
  }

  /** Removes the entry at the cursor. */
  remove(): void {
    this.size--
    erase(this.#found, this.#at)
  }

  /** Removes the entries of absent chunks from the next few segments. Returns true when a round is complete. */
  scrub(segments: number, isPresent: Uint8Array): boolean {
    const end = Math.min(this.#scrubbed + segments, this.#segments.length)
    for (; this.#scrubbed < end; this.#scrubbed++) {
      const segment = this.#segments[this.#scrubbed]!
      const { words } = segment
      for (let at = words.length - 4; at >= 0; at -= 4) {
        // The entry that fills the gap may belong to an absent chunk too.
        while (words[at + 2] !== 0 && isPresent[words[at + 2]! - 1] === 0) {
          this.size--
          erase(segment, at)
        }
      }
    }
    if (this.#scrubbed < this.#segments.length) return false
    this.#scrubbed = 0
    return true
  }

  #probe(from: number): boolean {
    const { words } = this.#found
    const low = this.#low
    const high = this.#high
    for (let at = from; ; at = after(at)) {
      const mark = words[at + 2]!
      if (mark === 0) {
        this.#at = at
        return false
      }
      if (words[at] === low && words[at + 1] === high) {
        this.#at = at
        this.ref = mark - 1
        this.ordinal = words[at + 3]!
        return true
      }
    }
  }

  #segmentOf(high: number): HashSegment {
    // In two steps, because JavaScript takes a shift by 32 for a shift by 0.
    return this.#directory[(high >>> 1) >>> (31 - this.#depth)]!
  }

  /** Splits a segment in two, by the next bit of the high half. */
  #split(segment: HashSegment): void {
    const depth = segment.depth + 1
    if (depth > this.#depth) {
      const before = this.#directory
      this.#directory = new Array<HashSegment>(before.length * 2)
      for (let i = 0; i < before.length; i++) this.#directory[2 * i] = this.#directory[2 * i + 1] = before[i]!
      this.#depth++
    }
    const sibling = newSegment(depth)
    // The sibling goes to the end, so a scrub that has passed this segment still meets it.
    this.#segments.push(sibling)
    segment.depth = depth
    segment.count = 0
    const before = segment.words.slice()
    segment.words.fill(0)
    for (let at = 0; at < before.length; at += 4) {
      const mark = before[at + 2]!
      if (mark === 0) continue
      const high = before[at + 1]!
      const target = ((high >>> (32 - depth)) & 1) === 0 ? segment : sibling
      insert(target, before[at]!, high, mark, before[at + 3]!)
    }
    const bit = 1 << (this.#depth - depth)
    const directory = this.#directory
    const span = 1 << (this.#depth - depth + 1)
    // A segment's entries in the directory are adjacent, so any one of them gives the range.
    const prefix = (this.#high >>> 1) >>> (31 - this.#depth)
    const start = prefix & ~(span - 1)
    for (let i = start; i < start + span; i++) if ((i & bit) !== 0) directory[i] = sibling
  }
}

function newSegment(depth: number): HashSegment {
  return { words: new Int32Array(SEGMENT_ENTRIES * 4), count: 0, depth }
}

function after(at: number): number {
  return (at + 4) & (SEGMENT_ENTRIES * 4 - 1)
}

function insert(segment: HashSegment, low: number, high: number, mark: number, ordinal: number): void {
  const { words } = segment
  segment.count++
  let at = (low & ENTRY_MASK) << 2
  while (words[at + 2] !== 0) at = after(at)
  words[at] = low
  words[at + 1] = high
  words[at + 2] = mark
  words[at + 3] = ordinal
}

function erase(segment: HashSegment, at: number): void {
  const { words } = segment
  segment.count--
  // Close the gap: an entry moves into it unless it would then be before its home slot.
  let gap = at >>> 2
  for (let entry = (gap + 1) & ENTRY_MASK; ; entry = (entry + 1) & ENTRY_MASK) {
    const from = entry << 2
    if (words[from + 2] === 0) break
    const fromHome = (entry - words[from]!) & ENTRY_MASK
    if (fromHome >= ((entry - gap) & ENTRY_MASK)) {
      words.copyWithin(gap << 2, from, from + 4)
      gap = entry
    }
  }
  words[(gap << 2) + 2] = 0
}
