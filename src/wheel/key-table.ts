import { GrowingMemory } from './growing-memory.js'
import { PackedKey } from './packed-key.js'

// A segment of the hash table: 4096 entries of (hash, index + 1), found by linear probing.
const SEGMENT_ENTRIES = 4096
const ENTRY_MASK = SEGMENT_ENTRIES - 1
const SEGMENT_WORDS = SEGMENT_ENTRIES * 2
const SEGMENT_FULL = 2900
const MAX_DEPTH = 17
const MAX_TABLE_BYTES = 2 ** 31

// What is kept of a key by its index: its hash and the first of its packed words, 32 bytes, so that it never lies
// across two cache lines. That is enough for strings of 24 characters; the rest of longer ones is kept apart.
const KEPT_WORDS = 8
const HEAD_WORDS = KEPT_WORDS - 1
const TAIL_WORDS = PackedKey.MOST_WORDS - HEAD_WORDS
const HEAD_CHARACTERS = (HEAD_WORDS - 1) * 4
const MAX_KEPT_BYTES = 65_535 * 65_536

// A page of values, for 32,768 indices. Heavier than 128 kB, so that V8 never moves it: smaller ones, made while keys
// are added, were copied in the middle of a later tick, twice, eight megabytes for a million keys.
const PAGE_BITS = 15
const PAGE_VALUES = 1 << PAGE_BITS
// The first page begins with this many and doubles: most wheels are small.
const FIRST_VALUES = 4096

/**
 * Finds a small integer, and keeps a value, by key. Strings and numbers are found through an extendible hash
 * table in typed arrays: it grows one segment at a time, so no operation ever waits for a rehash of the
 * whole. Usual keys are kept and compared as words in a typed array too, and made again when asked for, so
 * that the garbage collector never hears of them; long ones are kept as they are. Other kinds of keys, and
 * strings beyond all reason that share one hash, go into a Map. Keys are compared as `Map` compares them.
 */
export class KeyTable<K, V> {
  size = 0

  readonly #packed = new PackedKey()
  // The key whose words are in #packed, and where find ended: add and remove, which follow, begin there. A
  // place that is out of date does no harm, because each index is marked in the table but once.
  #sought: unknown = undefined
  #foundAt = -1

  readonly #tableMemory = new GrowingMemory(MAX_TABLE_BYTES)
  #table: Int32Array = new Int32Array(this.#tableMemory.grow(SEGMENT_WORDS * 4))
  // The segment of a hash, by its top `#depth` bits.
  #directory: Int32Array = new Int32Array(1)
  #depth = 0
  readonly #depths: number[] = [0]
  readonly #counts: number[] = [0]
  readonly #scratch = new Int32Array(SEGMENT_WORDS)

  readonly #keptMemory = new GrowingMemory(MAX_KEPT_BYTES)
  #kept: Int32Array = new Int32Array(0)
  #keptBytes: Buffer = Buffer.alloc(0)
  // Nothing until the first key that needs it.
  #tailMemory: GrowingMemory | undefined
  #tails: Int32Array = new Int32Array(0)
  #tailBytes: Buffer = Buffer.alloc(0)
  // Keys that are not packed, by index.
  readonly #wholeKeys = new Map<number, K>()
  readonly #others = new Map<K, number>()

  readonly #pages: unknown[][] = []
  // The indices that there is room for.
  #room = 0
  // Whether any value ever was more than a number or a boolean: if not, there is nothing to let go of.
  #keepsReferences = false

  get bytes(): number {
    const typed = [this.#table, this.#directory, this.#scratch, this.#kept, this.#tails]
    return typed.reduce((sum, array) => sum + array.byteLength, this.#room * 8)
  }

  /** The index of a key, or -1. */
  find(key: K): number {
    if (!isHashable(key)) return this.#others.get(key) ?? -1
    this.#sought = key
    const packed = this.#packed
    packed.set(key)
    const { hash } = packed
    const table = this.#table
    const start = this.#segmentOf(hash) * SEGMENT_WORDS
    for (let entry = hash & ENTRY_MASK; ; entry = (entry + 1) & ENTRY_MASK) {
      const at = start + (entry << 1)
      const index = table[at | 1]! - 1
      if (index < 0) break
      if (table[at] === hash && this.#isKept(index, key)) {
        this.#foundAt = at
        return index
      }
    }
    return this.#others.size === 0 ? -1 : (this.#others.get(key) ?? -1)
  }

  /** Adds a key that is not there, with its value, under an index that is not in use. */
  add(key: K, index: number, value: V): void {
    this.size++
    this.#makeRoomFor(index)
    this.setValue(index, value)
    if (!this.#addHashed(key, index)) {
      this.#others.set(key, index)
      this.#wholeKeys.set(index, key)
      this.#kept[index * KEPT_WORDS + 1] = PackedKey.OTHER
    }
    this.#sought = undefined
  }

  keyOf(index: number): K {
    const kept = this.#kept
    const first = index * KEPT_WORDS + 1
    const length = kept[first]!
    if (length >= 0) return this.#textOf(index, length) as K
    if (length === PackedKey.NUMBER) return PackedKey.numberOf(kept[first + 1]!, kept[first + 2]!) as K
    return this.#wholeKeys.get(index) as K
  }

  valueOf(index: number): V {
    return this.#pages[index >>> PAGE_BITS]![index & (PAGE_VALUES - 1)] as V
  }

  setValue(index: number, value: V): void {
    if (typeof value !== 'number' && typeof value !== 'boolean') this.#keepsReferences = true
    this.#pages[index >>> PAGE_BITS]![index & (PAGE_VALUES - 1)] = value
  }

  /** Takes out the key of an index, and lets go of key and value. */
  remove(index: number): void {
    this.size--
    const first = this.#kept[index * KEPT_WORDS + 1]!
    if (first === PackedKey.OTHER) this.#others.delete(this.#wholeKeys.get(index) as K)
    else if (this.#table[this.#foundAt | 1] === index + 1) this.#erase(this.#foundAt)
    else this.#erase(this.#placeOf(this.#kept[index * KEPT_WORDS]!, index + 1))
    if (first <= PackedKey.UNPACKED) this.#wholeKeys.delete(index)
    if (this.#keepsReferences) this.#pages[index >>> PAGE_BITS]![index & (PAGE_VALUES - 1)] = undefined
  }

  #addHashed(key: K, index: number): boolean {
    if (!isHashable(key)) return false
    const packed = this.#packed
    if (this.#sought !== key) packed.set(key)
    const { hash, words, length } = packed
    const segment = this.#roomySegmentOf(hash)
    if (segment < 0) return false
    this.#counts[segment]!++
    this.#insert(segment * SEGMENT_WORDS, hash, index + 1)
    const kept = this.#kept
    const start = index * KEPT_WORDS
    kept[start] = hash
    const head = length < HEAD_WORDS ? length : HEAD_WORDS
    for (let k = 0; k < head; k++) kept[start + 1 + k] = words[k]!
    if (length > HEAD_WORDS) this.#keepTail(index)
    if (words[0] === PackedKey.UNPACKED) this.#wholeKeys.set(index, key)
    return true
  }

  /** Whether the key just packed, whose hash is right, is that of an index. */
  #isKept(index: number, key: K): boolean {
    const { words, length } = this.#packed
    const kept = this.#kept
    const start = index * KEPT_WORDS + 1
    const head = length < HEAD_WORDS ? length : HEAD_WORDS
    for (let k = 0; k < head; k++) {
      if (kept[start + k] !== words[k]) return false
    }
    if (length > HEAD_WORDS) return this.#isTailKept(index)
    return words[0] !== PackedKey.UNPACKED || this.#wholeKeys.get(index) === key
  }

  /** Of the key just packed, what does not fit beside its hash. */
  #keepTail(index: number): void {
    const { words, length } = this.#packed
    if (this.#tailMemory === undefined) {
      this.#tailMemory = new GrowingMemory(MAX_KEPT_BYTES)
      this.#growTails()
    }
    for (let k = HEAD_WORDS; k < length; k++) this.#tails[index * TAIL_WORDS + k - HEAD_WORDS] = words[k]!
  }

  /** Whether the rest is that of an index too, whose length is the same. */
  #isTailKept(index: number): boolean {
    const { words, length } = this.#packed
    const tails = this.#tails
    for (let k = HEAD_WORDS; k < length; k++) {
      if (tails[index * TAIL_WORDS + k - HEAD_WORDS] !== words[k]) return false
    }
    return true
  }

  #textOf(index: number, length: number): string {
    const start = (index * KEPT_WORDS + 2) * 4
    if (length <= HEAD_CHARACTERS) return this.#keptBytes.toString('latin1', start, start + length)
    const rest = index * TAIL_WORDS * 4
    return (
      this.#keptBytes.toString('latin1', start, start + HEAD_CHARACTERS) +
      this.#tailBytes.toString('latin1', rest, rest + length - HEAD_CHARACTERS)
    )
  }

  #growTails(): void {
    const buffer = this.#tailMemory!.grow(this.#room * TAIL_WORDS * 4)
    this.#tails = new Int32Array(buffer)
    this.#tailBytes = Buffer.from(buffer)
  }

  #segmentOf(hash: number): number {
    // In two steps, because a shift by 32 is a shift by 0.
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
    const table = this.#table
    let at = start + ((hash & ENTRY_MASK) << 1)
    while (table[at | 1] !== 0) at = start + ((at + 2 - start) & (SEGMENT_WORDS - 1))
    table[at] = hash
    table[at | 1] = mark
  }

  #placeOf(hash: number, mark: number): number {
    const table = this.#table
    const start = this.#segmentOf(hash) * SEGMENT_WORDS
    let at = start + ((hash & ENTRY_MASK) << 1)
    while (table[at | 1] !== mark) at = start + ((at + 2 - start) & (SEGMENT_WORDS - 1))
    return at
  }

  #erase(at: number): void {
    const table = this.#table
    const segment = Math.floor(at / SEGMENT_WORDS)
    const start = segment * SEGMENT_WORDS
    this.#counts[segment]!--
    // Close the gap: an entry moves into it unless that would put it before its home.
    let gap = (at - start) >>> 1
    for (let entry = (gap + 1) & ENTRY_MASK; ; entry = (entry + 1) & ENTRY_MASK) {
      const from = start + (entry << 1)
      if (table[from | 1] === 0) break
      const fromHome = (entry - table[from]!) & ENTRY_MASK
      if (fromHome >= ((entry - gap) & ENTRY_MASK)) {
        table[start + (gap << 1)] = table[from]!
        table[(start + (gap << 1)) | 1] = table[from | 1]!
        gap = entry
      }
    }
    table[(start + (gap << 1)) | 1] = 0
  }

  /** Makes two segments of one, by the next bit of their hashes. */
  #split(segment: number): void {
    const depth = this.#depths[segment]! + 1
    const sibling = this.#depths.push(depth) - 1
    this.#depths[segment] = depth
    if (depth > this.#depth) this.#doubleDirectory()
    this.#table = new Int32Array(this.#tableMemory.grow((sibling + 1) * SEGMENT_WORDS * 4))
    const table = this.#table
    const scratch = this.#scratch
    const start = segment * SEGMENT_WORDS
    scratch.set(table.subarray(start, start + SEGMENT_WORDS))
    table.fill(0, start, start + SEGMENT_WORDS)
    let moved = 0
    for (let from = 0; from < SEGMENT_WORDS; from += 2) {
      const mark = scratch[from | 1]!
      if (mark === 0) continue
      const hash = scratch[from]!
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

  #makeRoomFor(index: number): void {
    if (index < this.#room) return
    while (this.#room <= index) this.#addRoom()
    const buffer = this.#keptMemory.grow(this.#room * KEPT_WORDS * 4)
    this.#kept = new Int32Array(buffer)
    this.#keptBytes = Buffer.from(buffer)
    if (this.#tailMemory !== undefined) this.#growTails()
  }

  #addRoom(): void {
    if (this.#room >= PAGE_VALUES) {
      this.#pages.push(emptyPage(PAGE_VALUES))
      this.#room += PAGE_VALUES
      return
    }
    const [first = []] = this.#pages
    const grown = emptyPage(Math.max(FIRST_VALUES, this.#room * 2))
    for (const [at, value] of first.entries()) grown[at] = value
    this.#pages[0] = grown
    this.#room = grown.length
  }
}

function emptyPage(values: number): unknown[] {
  return new Array<unknown>(values).fill(undefined)
}

function isHashable(key: unknown): key is string | number {
  // NaN is a key like any other, but not equal to itself.
  return typeof key === 'string' || (typeof key === 'number' && key === key)
}
