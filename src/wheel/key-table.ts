import { GrowingMemory } from './growing-memory.js'
import { hashKey } from './key-hash.js'

// A segment of the hash table: 4096 entries of (hash, index + 1), found by linear probing.
const SEGMENT_ENTRIES = 4096
const SEGMENT_WORDS = SEGMENT_ENTRIES * 2
const SEGMENT_FULL = 2900
const MAX_DEPTH = 17
const MAX_BYTES = 65_535 * 65_536

// A page of items: (key, value, hash) for 4096 indices.
const PAGE_BITS = 12
const PAGE_ITEMS = 1 << PAGE_BITS
const ITEM_FIELDS = 3
const KEY = 0
const VALUE = 1
const HASH = 2

/**
 * Finds a small integer, and keeps a value, by key. Strings and numbers are found through an extendible hash
 * table in typed arrays: it grows one segment at a time, so no operation ever waits for a rehash of the
 * whole. Other keys, and strings beyond all reason that share one hash, go into a Map. Keys are compared as
 * `Map` compares them.
 */
export class KeyTable<K, V> {
  size = 0

  readonly #memory = new GrowingMemory(MAX_BYTES)
  #words: Int32Array = new Int32Array(this.#memory.grow(SEGMENT_WORDS * 4))
  // The segment of a hash, by its top `#depth` bits.
  #directory: Int32Array = new Int32Array(1)
  #depth = 0
  readonly #depths: number[] = [0]
  readonly #counts: number[] = [0]
  readonly #pages: Item[][] = []
  readonly #others = new Map<K, number>()
  readonly #scratch = new Int32Array(SEGMENT_WORDS)

  get bytes(): number {
    const pages = this.#pages.length * PAGE_ITEMS * ITEM_FIELDS * 8
    return this.#words.byteLength + this.#directory.byteLength + this.#scratch.byteLength + pages
  }

  /** The index of a key, or -1. */
  find(key: K): number {
    if ((typeof key !== 'string' && typeof key !== 'number') || key !== key)
      return this.#others.get(key) ?? -1
    const hash = hashKey(key)
    const words = this.#words
    const start = this.#segmentOf(hash) * SEGMENT_WORDS
    for (let entry = hash; ; entry++) {
      const at = start + (entry & (SEGMENT_ENTRIES - 1)) * 2
      const index = words[at + 1]! - 1
      if (index < 0) break
      if (words[at] === hash && this.keyOf(index) === key) return index
    }
    return this.#others.size === 0 ? -1 : (this.#others.get(key) ?? -1)
  }

  /** Adds a key that is not there, with its value, under an index that is not in use. */
  add(key: K, index: number, value: V): void {
    this.size++
    const page = this.#pageFor(index)
    const at = (index & (PAGE_ITEMS - 1)) * ITEM_FIELDS
    page[at + KEY] = key
    page[at + VALUE] = value
    if ((typeof key === 'string' || typeof key === 'number') && key === key) {
      const hash = hashKey(key)
      const segment = this.#roomySegmentOf(hash)
      if (segment >= 0) {
        page[at + HASH] = hash
        this.#counts[segment]!++
        this.#insert(segment * SEGMENT_WORDS, hash, index + 1)
        return
      }
    }
    page[at + HASH] = undefined
    this.#others.set(key, index)
  }

  keyOf(index: number): K {
    return this.#pages[index >>> PAGE_BITS]![(index & (PAGE_ITEMS - 1)) * ITEM_FIELDS + KEY] as K
  }

  valueOf(index: number): V {
    return this.#pages[index >>> PAGE_BITS]![(index & (PAGE_ITEMS - 1)) * ITEM_FIELDS + VALUE] as V
  }

  setValue(index: number, value: V): void {
    this.#pages[index >>> PAGE_BITS]![(index & (PAGE_ITEMS - 1)) * ITEM_FIELDS + VALUE] = value
  }

  /** Takes out the key of an index, and lets go of key and value. */
  remove(index: number): void {
    this.size--
    const page = this.#pages[index >>> PAGE_BITS]!
    const at = (index & (PAGE_ITEMS - 1)) * ITEM_FIELDS
    const hash = page[at + HASH]
    if (hash === undefined) this.#others.delete(page[at + KEY] as K)
    else this.#erase(hash as number, index + 1)
    page[at + KEY] = undefined
    page[at + VALUE] = undefined
  }

  #segmentOf(hash: number): number {
    // Twice, because a shift by 32 is a shift by 0.
    return this.#directory[(hash >>> 1) >>> (31 - this.#depth)]!
  }

  /** The segment of a hash, split until it has room; -1 when splitting does not help. */
  #roomySegmentOf(hash: number): number {
    let segment = this.#segmentOf(hash)
    while (this.#counts[segment]! >= SEGMENT_FULL) {
      if (this.#depths[segment] === MAX_DEPTH) return -1
      this.#split(segment)
      segment = this.#segmentOf(hash)
    }
    return segment
  }

  #insert(start: number, hash: number, mark: number): void {
    const words = this.#words
    let entry = hash & (SEGMENT_ENTRIES - 1)
    while (words[start + entry * 2 + 1] !== 0) entry = (entry + 1) & (SEGMENT_ENTRIES - 1)
    words[start + entry * 2] = hash
    words[start + entry * 2 + 1] = mark
  }

  #erase(hash: number, mark: number): void {
    const words = this.#words
    const segment = this.#segmentOf(hash)
    const start = segment * SEGMENT_WORDS
    this.#counts[segment]!--
    let gap = hash & (SEGMENT_ENTRIES - 1)
    while (words[start + gap * 2 + 1] !== mark) gap = (gap + 1) & (SEGMENT_ENTRIES - 1)
    // Close the gap: an entry moves into it unless that would put it before its home.
    for (let entry = (gap + 1) & (SEGMENT_ENTRIES - 1); ; entry = (entry + 1) & (SEGMENT_ENTRIES - 1)) {
      const at = start + entry * 2
      if (words[at + 1] === 0) break
      const fromHome = (entry - words[at]!) & (SEGMENT_ENTRIES - 1)
      if (fromHome >= ((entry - gap) & (SEGMENT_ENTRIES - 1))) {
        words[start + gap * 2] = words[at]!
        words[start + gap * 2 + 1] = words[at + 1]!
        gap = entry
      }
    }
    words[start + gap * 2 + 1] = 0
  }

  /** Makes two segments of one, by the next bit of their hashes. */
  #split(segment: number): void {
    const depth = this.#depths[segment]! + 1
    const sibling = this.#depths.push(depth) - 1
    this.#depths[segment] = depth
    if (depth > this.#depth) this.#doubleDirectory()
    this.#words = new Int32Array(this.#memory.grow((sibling + 1) * SEGMENT_WORDS * 4))
    const words = this.#words
    const scratch = this.#scratch
    const start = segment * SEGMENT_WORDS
    scratch.set(words.subarray(start, start + SEGMENT_WORDS))
    words.fill(0, start, start + SEGMENT_WORDS)
    let moved = 0
    for (let at = 0; at < SEGMENT_WORDS; at += 2) {
      const mark = scratch[at + 1]!
      if (mark === 0) continue
      const hash = scratch[at]!
      const isMoved = ((hash >>> (32 - depth)) & 1) !== 0
      if (isMoved) moved++
      this.#insert((isMoved ? sibling : segment) * SEGMENT_WORDS, hash, mark)
    }
    this.#counts[segment]! -= moved
    this.#counts.push(moved)
    const directory = this.#directory
    const bit = 1 << (this.#depth - depth)
    for (let i = 0; i < directory.length; i++) {
      if (directory[i] === segment && (i & bit) !== 0) directory[i] = sibling
    }
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

  #pageFor(index: number): Item[] {
    const number = index >>> PAGE_BITS
    while (this.#pages.length <= number)
      this.#pages.push(new Array<Item>(PAGE_ITEMS * ITEM_FIELDS).fill(undefined))
    return this.#pages[number]!
  }
}

// A page mixes keys, values and hashes, so that one cache line usually holds the three of an index.
type Item = unknown
