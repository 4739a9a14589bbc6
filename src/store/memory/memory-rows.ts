import type { Place, TimerContent, TimerName, TimerProgress, TimerRow } from '../../timer/index.js'
import { KeyIndex } from '../names/key-index.js'
import { NameHash } from '../names/name-hash.js'
import type { SetColumns } from '../set-columns.js'
import { BytePool, MAX_BLOCK_BYTES } from './byte-pool.js'
import { RowOrder } from './row-order.js'
import {
  hasExtra,
  keyBytesOf,
  keyOf,
  recordLayout,
  type RowExtra,
  rowOfRecord,
  type Scope,
} from './row-record.js'
import { ScopeCounts } from './scope-counts.js'

const { doubles, ATTEMPT, BLOCK, CREATED_AT, DUE_AT, EXTRA, IDENTITY, KEY } = recordLayout
const { OCCURRENCE, PAYLOAD_BYTES, POSITION, REVISION, SCOPE, WIDE } = recordLayout
const SEGMENT_BITS = 10
const SEGMENT_ROWS = 1 << SEGMENT_BITS
const SEGMENT_MASK = SEGMENT_ROWS - 1
/** In the field BLOCK: the bytes are too many for a block of the pool. */
const LARGE = -1
// For short payloads a loop is faster than a call that copies.
const FEW_BYTES = 64
// Never stored, so each process has its own.
const seed = Math.floor(Math.random() * 2 ** 32)

/** Who has leased a row of a store of the mode `claim`, and until when. */
export interface RowLease {
  readonly owner: string
  readonly nonce: number
  until: number
}

/** Where the parts of a row lie. */
export interface RowParts {
  readonly numbers: Float64Array
  readonly words: Int32Array
  /** The number of the record in `numbers` and `words`. */
  readonly record: number
  readonly bytes: Buffer
  /** Where the key begins in `bytes`. */
  readonly at: number
}

/**
 * The rows of a shard, in typed columns. An object for each of millions of rows would cost more than the rest of the
 * work. A row is named by its slot, which is used again once the row was removed. `row` makes an object of it.
 *
 * Proven by test/store/memory/memory-rows.test.ts, and by the store contract in test/store/memory.test.ts.
 */
export class MemoryRows {
  readonly scopes = new ScopeCounts()
  readonly order = new RowOrder(this)
  /** The rows whose position is not their due time. All other rows of a due window lie in the window. */
  readonly displaced = new RowOrder(this)
  readonly leases = new Map<number, RowLease>()
  size = 0

  #index = new KeyIndex()
  readonly #hash = new NameHash(seed)
  readonly #numbers: Float64Array[] = []
  readonly #words: Int32Array[] = []
  readonly #pool = new BytePool()
  readonly #large = new Map<number, Buffer>()
  readonly #extras = new Map<number, RowExtra>()
  #slots = 0
  #firstFree = -1
  // The name that was sought last, and the slot that was found. The index has its cursor there.
  #soughtNamespace = ''
  #soughtKind = ''
  #soughtKey: string | undefined
  #found = -1

  /** The slot of the newest row of this name; -1 if there is none. */
  find(name: TimerName): number {
    const index = this.#index
    const { key } = name
    const scope = this.scopes.numberOf(name)
    this.#hash.set(name)
    this.#soughtNamespace = name.namespace
    this.#soughtKind = name.kind
    this.#soughtKey = key
    const { low, high } = this.#hash
    for (let isThere = index.first(low, high); isThere; isThere = index.next()) {
      if (this.#isNamed(index.ref, scope, key)) return (this.#found = index.ref)
    }
    return (this.#found = -1)
  }

  /** Adds a row. Its name leads to it from now on, even if an older row has the name. Revisions must rise. */
  put(content: TimerContent, progress: TimerProgress, position: number, revision: number): number {
    const { payload, tags, details } = content
    const hasMore = tags.length > 0 || details.length > 0
    const slot = this.#add(content, payload, 0, payload.length, hasMore)
    if (hasMore) this.#extras.set(slot, { tags: [...tags], details })
    const words = this.#words[slot >>> SEGMENT_BITS]!
    const word = (slot & SEGMENT_MASK) * doubles * 2
    words[word + ATTEMPT] = progress.attempt
    words[word + OCCURRENCE] = progress.occurrence
    this.#fill(slot, content.identity, content.createdAt, progress.dueAt, position, revision)
    return slot
  }

  /** The same for one of the plain sets of a call, from its columns. */
  putPlain(sets: SetColumns, name: TimerName, at: number, position: number, revision: number): number {
    const { payloads } = sets
    const from = payloads.from(at)
    const slot = this.#add(name, payloads.bytes, from, payloads.end(at) - from, false)
    this.#fill(slot, sets.identities[at]!, sets.createdAt, sets.dueAts[at]!, position, revision)
    return slot
  }

  remove(slot: number): void {
    this.#removeName(slot)
    this.#release(slot)
    this.order.removed()
    if (this.size === 0) this.#clear()
  }

  /** Removes the rows before `level`. Returns how many there were. */
  removeBefore(level: Place): number {
    const before = this.size
    this.order.removeBefore(level, (slot) => {
      this.#removeName(slot)
      this.#release(slot)
    })
    this.displaced.removeBefore(level, () => {})
    if (this.size === 0) this.#clear()
    return before - this.size
  }

  position(slot: number): number {
    return this.#numbers[slot >>> SEGMENT_BITS]![(slot & SEGMENT_MASK) * doubles + POSITION]!
  }

  revision(slot: number): number {
    return this.#numbers[slot >>> SEGMENT_BITS]![(slot & SEGMENT_MASK) * doubles + REVISION]!
  }

  place(slot: number): Place {
    return { position: this.position(slot), revision: this.revision(slot) }
  }

  identity(slot: number): number {
    return this.#numbers[slot >>> SEGMENT_BITS]![(slot & SEGMENT_MASK) * doubles + IDENTITY]!
  }

  dueAt(slot: number): number {
    return this.#numbers[slot >>> SEGMENT_BITS]![(slot & SEGMENT_MASK) * doubles + DUE_AT]!
  }

  attempt(slot: number): number {
    return this.#word(slot, ATTEMPT) >>> 0
  }

  scope(slot: number): Scope {
    return this.scopes.scope(this.#word(slot, SCOPE))
  }

  payloadBytes(slot: number): number {
    return this.#word(slot, PAYLOAD_BYTES)
  }

  keyBytes(slot: number): number {
    return keyBytesOf(this.#word(slot, KEY))
  }

  extra(slot: number): RowExtra | undefined {
    return hasExtra(this.#word(slot, KEY)) ? this.#extras.get(slot) : undefined
  }

  isBefore(slot: number, { position, revision }: Place): boolean {
    const own = this.position(slot)
    return own === position ? this.revision(slot) < revision : own < position
  }

  /** The row, with a copy of its payload. */
  row(slot: number): TimerRow {
    const { numbers, words, record, bytes, at } = this.parts(slot)
    return rowOfRecord(numbers, words, record, bytes, at, this.scope(slot), this.extra(slot), true)
  }

  /** Where a row lies now, for a copy of it. */
  parts(slot: number): RowParts {
    return {
      numbers: this.#numbers[slot >>> SEGMENT_BITS]!,
      words: this.#words[slot >>> SEGMENT_BITS]!,
      record: slot & SEGMENT_MASK,
      bytes: this.#bytesOf(slot),
      at: this.#offsetOf(slot),
    }
  }

  /** Takes a slot for a new row, lets its name lead to it, and copies its key and `length` bytes of its payload. */
  #add(name: TimerName, payload: Uint8Array, from: number, length: number, hasMore: boolean): number {
    const { key } = name
    const isSought =
      this.#soughtKey === key && this.#soughtKind === name.kind && this.#soughtNamespace === name.namespace
    if (!isSought) this.find(name)
    const slot = this.#takeSlot()
    if (this.#found < 0) this.#index.add(slot, 0)
    else this.#index.replace(slot, 0)
    this.#soughtKey = undefined
    const { isAscii } = this.#hash
    const keyUnits = key.length
    const words = this.#words[slot >>> SEGMENT_BITS]!
    const word = (slot & SEGMENT_MASK) * doubles * 2
    words[word + ATTEMPT] = 0
    words[word + OCCURRENCE] = 0
    words[word + SCOPE] = this.scopes.add(name)
    words[word + KEY] = (keyUnits << 2) | (isAscii ? 0 : WIDE) | (hasMore ? EXTRA : 0)
    words[word + PAYLOAD_BYTES] = length
    words[word + BLOCK] = this.#takeBlock(slot, (isAscii ? keyUnits : keyUnits * 2) + length)
    const bytes = this.#bytesOf(slot)
    let at = this.#offsetOf(slot)
    if (isAscii) for (let i = 0; i < keyUnits; i++) bytes[at++] = key.charCodeAt(i)
    else at += bytes.write(key, at, 'utf16le')
    copyBytes(payload, from, bytes, at, length)
    this.size++
    return slot
  }

  #takeBlock(slot: number, bytes: number): number {
    if (bytes <= MAX_BLOCK_BYTES) return this.#pool.take(bytes)
    this.#large.set(slot, Buffer.allocUnsafeSlow(bytes))
    return LARGE
  }

  #fill(
    slot: number,
    identity: number,
    createdAt: number,
    dueAt: number,
    position: number,
    revision: number,
  ): void {
    const numbers = this.#numbers[slot >>> SEGMENT_BITS]!
    const number = (slot & SEGMENT_MASK) * doubles
    numbers[number + POSITION] = position
    numbers[number + REVISION] = revision
    numbers[number + IDENTITY] = identity
    numbers[number + CREATED_AT] = createdAt
    numbers[number + DUE_AT] = dueAt
    this.order.add(slot, position, revision)
    if (dueAt !== position) this.displaced.add(slot, position, revision)
  }

  /** Removes the name of a row from the index, unless it leads to a newer row. */
  #removeName(slot: number): void {
    const index = this.#index
    const isAtCursor = this.#soughtKey !== undefined && this.#found === slot
    if (isAtCursor) index.remove()
    else {
      this.#hashOf(slot)
      if (index.firstOf(this.#hash.low, this.#hash.high, slot, 0)) index.remove()
    }
    this.#soughtKey = undefined
  }

  #hashOf(slot: number): void {
    const key = this.#word(slot, KEY)
    const { namespace, kind } = this.scope(slot)
    const bytes = this.#bytesOf(slot)
    const at = this.#offsetOf(slot)
    if ((key & WIDE) === 0) this.#hash.setBytes(namespace, kind, bytes, at, key >>> 2)
    else this.#hash.set({ namespace, kind, key: keyOf(key, bytes, at) })
  }

  #isNamed(slot: number, scope: number, key: string): boolean {
    const words = this.#words[slot >>> SEGMENT_BITS]!
    const word = (slot & SEGMENT_MASK) * doubles * 2
    const own = words[word + KEY]!
    const { length } = key
    if (words[word + SCOPE] !== scope || own >>> 2 !== length) return false
    const bytes = this.#bytesOf(slot)
    const at = this.#offsetOf(slot)
    if ((own & WIDE) !== 0) return keyOf(own, bytes, at) === key
    for (let i = 0; i < length; i++) if (bytes[at + i] !== key.charCodeAt(i)) return false
    return true
  }

  #takeSlot(): number {
    const free = this.#firstFree
    if (free >= 0) {
      // A free record has the next free slot in place of its position.
      this.#firstFree = this.position(free)
      return free
    }
    const slot = this.#slots++
    if (slot >>> SEGMENT_BITS === this.#numbers.length) {
      const numbers = new Float64Array(SEGMENT_ROWS * doubles)
      this.#numbers.push(numbers)
      this.#words.push(new Int32Array(numbers.buffer))
    }
    return slot
  }

  /** Frees everything that a row takes, but its entries in the orders. */
  #release(slot: number): void {
    const words = this.#words[slot >>> SEGMENT_BITS]!
    const word = (slot & SEGMENT_MASK) * doubles * 2
    const key = words[word + KEY]!
    const block = words[word + BLOCK]!
    if (block === LARGE) this.#large.delete(slot)
    else this.#pool.free(block, keyBytesOf(key) + words[word + PAYLOAD_BYTES]!)
    if (hasExtra(key)) this.#extras.delete(slot)
    if (this.leases.size > 0) this.leases.delete(slot)
    this.scopes.remove(words[word + SCOPE]!)
    const numbers = this.#numbers[slot >>> SEGMENT_BITS]!
    const number = (slot & SEGMENT_MASK) * doubles
    if (numbers[number + DUE_AT] !== numbers[number + POSITION]) this.displaced.removed()
    numbers[number + REVISION] = 0
    numbers[number + POSITION] = this.#firstFree
    this.#firstFree = slot
    this.size--
  }

  /** Once no row is left, gives the memory back, if it is much. */
  #clear(): void {
    this.order.clear()
    this.displaced.clear()
    if (this.#slots <= SEGMENT_ROWS) return
    this.#index = new KeyIndex()
    this.#pool.clear()
    this.#numbers.length = this.#words.length = 0
    this.#slots = 0
    this.#firstFree = -1
  }

  #word(slot: number, field: number): number {
    return this.#words[slot >>> SEGMENT_BITS]![(slot & SEGMENT_MASK) * doubles * 2 + field]!
  }

  #bytesOf(slot: number): Buffer {
    const block = this.#word(slot, BLOCK)
    return block === LARGE ? this.#large.get(slot)! : this.#pool.segmentOf(block)
  }

  #offsetOf(slot: number): number {
    const block = this.#word(slot, BLOCK)
    return block === LARGE ? 0 : this.#pool.offsetOf(block)
  }
}

function copyBytes(source: Uint8Array, from: number, target: Buffer, at: number, length: number): void {
  if (length >= FEW_BYTES) {
    target.set(source.length === length ? source : source.subarray(from, from + length), at)
    return
  }
  for (let i = 0; i < length; i++) target[at + i] = source[from + i]!
}
