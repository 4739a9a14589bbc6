import { entryLayout, EntryTable } from './entry-table.js'
import { GrowingMemory } from './growing-memory.js'
import { PackedKey } from './packed-key.js'
import { ValueTable } from './value-table.js'

const { ENTRY_BITS, HASH, KEY, KEY_WORDS, MARKED, KIND_AT, IN_SEGMENT } = entryLayout
const { LONG, NUMBER, UNPACKED, LONG_WORDS } = PackedKey
// The part of a long key that does not fit into its entry is kept in a table by index. Its last word is the length.
const TAIL_WORDS = LONG_WORDS - KEY_WORDS
const HEAD_CHARACTERS = KEY_WORDS * 4
const MAX_TAIL_BYTES = 65_535 * 65_536

/**
 * Maps a key to a small integer and a value. Strings and numbers go into an extendible hash table in typed arrays. It
 * grows one segment at a time, so no operation waits for a rehash of the whole table. Usual keys are stored and
 * compared as words in a typed array and rebuilt on demand, so the garbage collector never sees them. Long keys are
 * kept as they are. Other types of keys go into a Map, and so do strings whose hash too many others share. Keys are
 * equal when `Map` considers them equal. Proven by test/wheel/key-table.test.ts.
 */
export class KeyTable<K, V> {
  size = 0
  /** Has no meaning. `touch` writes it so that V8 does not optimise its read away. */
  touched = 0

  readonly #packed = new PackedKey()
  // The key whose words are in #packed, and the place where `find` ended: `add` and `remove`, which follow, begin
  // there. A stale place does no harm, because each index has only one mark in the table.
  #sought: unknown = undefined
  #foundAt = 0

  readonly #entries = new EntryTable()
  #entryBytes: Buffer = Buffer.from(this.#entries.words.buffer)
  // Not allocated before the first long key.
  #tailMemory: GrowingMemory | undefined
  #tails: Int32Array = new Int32Array(0)
  #tailBytes: Buffer = Buffer.alloc(0)
  // Unpacked keys, by index.
  readonly #wholeKeys = new Map<number, K>()
  readonly #others = new Map<K, number>()
  readonly #values = new ValueTable<V>()

  /** Allocates the memory for `count` keys of up to 24 characters. Call it while the table is empty. */
  reserve(count: number): void {
    this.#entries.reserve(count)
  }

  /** The index of a key, or -1. */
  find(key: K): number {
    if (!isHashable(key)) return this.#others.get(key) ?? -1
    this.#sought = key
    const packed = this.#packed
    packed.set(key)
    const { hash } = packed
    const entries = this.#entries
    const { words } = entries
    const start = entries.startOf(hash)
    for (let place = start | (hash & IN_SEGMENT); ; place = start | ((place + 1) & IN_SEGMENT)) {
      const at = place << ENTRY_BITS
      const mark = words[at]!
      if (mark === 0) break
      if (words[at | HASH] === hash && mark >>> KIND_AT === packed.kind && this.#isAt(at, key)) {
        this.#foundAt = place
        return (mark & MARKED) - 1
      }
    }
    return this.#others.size === 0 ? -1 : (this.#others.get(key) ?? -1)
  }

  /** Adds a new key and its value under an unused index. */
  add(key: K, index: number, value: V): void {
    this.size++
    this.#values.set(index, value)
    if (!this.#addHashed(key, index)) {
      this.#others.set(key, index)
      this.#wholeKeys.set(index, key)
    }
    this.#sought = undefined
  }

  keyOf(index: number): K {
    if (this.#wholeKeys.size !== 0 && this.#wholeKeys.has(index)) return this.#wholeKeys.get(index) as K
    const { words } = this.#entries
    const place = this.#entries.placeOf(index)
    // The caller removes it next.
    this.#foundAt = place
    const at = place << ENTRY_BITS
    const kind = words[at]! >>> KIND_AT
    if (kind === NUMBER) return PackedKey.numberOf(words[at | KEY]!, words[at | (KEY + 1)]!) as K
    return (kind === LONG ? this.#longTextOf(index, at | KEY) : this.#textAt(at | KEY, kind)) as K
  }

  /** Loads the entry of an index into the cache, because its key will be read soon. The index may be unused. */
  touch(index: number): void {
    this.touched ^= this.#entries.firstMarkOf(index)
  }

  valueOf(index: number): V {
    return this.#values.get(index)
  }

  setValue(index: number, value: V): void {
    this.#values.set(index, value)
  }

  /** Removes the key and the value of an index. */
  remove(index: number): void {
    this.size--
    this.#values.clear(index)
    if (this.#wholeKeys.size !== 0 && this.#removeWhole(index)) return
    const entries = this.#entries
    entries.removeAt(entries.isAt(this.#foundAt, index) ? this.#foundAt : entries.placeOf(index))
  }

  /** Removes an unpacked key. Returns true if nothing else is left to remove, because the key is not in the table. */
  #removeWhole(index: number): boolean {
    if (!this.#wholeKeys.has(index)) return false
    const key = this.#wholeKeys.get(index) as K
    this.#wholeKeys.delete(index)
    return this.#others.get(key) === index && this.#others.delete(key)
  }

  #addHashed(key: K, index: number): boolean {
    if (!isHashable(key)) return false
    const packed = this.#packed
    if (this.#sought !== key) packed.set(key)
    const { words, kind, length } = packed
    const place = this.#entries.add(packed.hash, kind, index)
    if (place < 0) return false
    const table = this.#entries.words
    const at = place << ENTRY_BITS
    const head = length < KEY_WORDS ? length : KEY_WORDS
    for (let k = 0; k < head; k++) table[at + KEY + k] = words[k]!
    if (kind === LONG) this.#keepTail(index)
    else if (kind === UNPACKED) this.#wholeKeys.set(index, key)
    return true
  }

  /** Whether an entry is that of the key just packed. Hash and kind are equal already. */
  #isAt(at: number, key: K): boolean {
    const { words, kind, length } = this.#packed
    const table = this.#entries.words
    const head = length < KEY_WORDS ? length : KEY_WORDS
    for (let k = 0; k < head; k++) {
      if (table[at + KEY + k] !== words[k]) return false
    }
    if (kind < LONG || kind === NUMBER) return true
    const index = (table[at]! & MARKED) - 1
    return kind === LONG ? this.#isTailKept(index) : this.#wholeKeys.get(index) === key
  }

  /** Stores the part of the long key just packed that does not fit into its entry. */
  #keepTail(index: number): void {
    const { words } = this.#packed
    const start = index * TAIL_WORDS
    if (start + TAIL_WORDS > this.#tails.length) {
      this.#tailMemory ??= new GrowingMemory(MAX_TAIL_BYTES)
      const buffer = this.#tailMemory.grow((start + TAIL_WORDS) * 4)
      this.#tails = new Int32Array(buffer)
      this.#tailBytes = Buffer.from(buffer)
    }
    for (let k = 0; k < TAIL_WORDS; k++) this.#tails[start + k] = words[KEY_WORDS + k]!
  }

  #isTailKept(index: number): boolean {
    const { words } = this.#packed
    const tails = this.#tails
    for (let k = 0; k < TAIL_WORDS; k++) {
      if (tails[index * TAIL_WORDS + k] !== words[KEY_WORDS + k]) return false
    }
    return true
  }

  #longTextOf(index: number, word: number): string {
    const start = index * TAIL_WORDS
    const length = this.#tails[start + TAIL_WORDS - 1]! - HEAD_CHARACTERS
    return (
      this.#textAt(word, HEAD_CHARACTERS) + this.#tailBytes.toString('latin1', start * 4, start * 4 + length)
    )
  }

  #textAt(word: number, length: number): string {
    const { buffer } = this.#entries.words
    if (this.#entryBytes.buffer !== buffer) this.#entryBytes = Buffer.from(buffer)
    return this.#entryBytes.toString('latin1', word * 4, word * 4 + length)
  }
}

function isHashable(key: unknown): key is string | number {
  // NaN is a valid key, but it does not equal itself, so it goes into the Map.
  return typeof key === 'string' || (typeof key === 'number' && key === key)
}
