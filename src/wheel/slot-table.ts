import { GrowingMemory } from './growing-memory.js'

/** The layout of the slots. Modules destructure it at their top, for speed (see `recordLayout`). */
export const slotLayout = Object.freeze({
  /**
   * The slots of one wheel level: 256 for the current block of its parent and 256 for the next one, so that the next
   * block can be filled little by little before the wheel enters it. There are four levels.
   */
  LEVEL_SLOTS: 512,
  FAR_SLOT: 2048,
  SLOTS: 2049,
  /** The offset of the first entry in a chunk, in words. */
  ENTRIES: 2,
  CHUNK_ENTRIES: 15,
  /** After this many chunks are taken into use, stale entries are checked, even without an advance. */
  TAKEN_IS_MANY: 128,
} as const)

// A chunk is two cache lines: the number of the next chunk and 15 entries of (index, due).
const CHUNK_WORDS = 32
const IN_CHUNK = CHUNK_WORDS - 1
const { SLOTS, ENTRIES, CHUNK_ENTRIES } = slotLayout
const FIRST_CHUNKS = 64
const MAX_BYTES = 65_535 * 65_536

/**
 * The slots of a wheel. Each is a chain of small chunks from one pool. A bitmap shows which slots are in use. The table
 * knows nothing about timers: an entry is an index and a due word. Entries are added at the end of a chain, and taken
 * from its front a chunk at a time. Proven by test/wheel/wheel.test.ts and test/wheel/wheel-differential.test.ts.
 */
export class SlotTable {
  pool: Int32Array = new Int32Array(0)
  /** The low 32 bits of the wheel's tick. Due words are 32 bits too, so they are unambiguous within 2^31 ticks. */
  low = 0
  /** Where the next entry of a slot goes: 0 if the slot is empty, a multiple of 32 if its last chunk is full. */
  readonly tails = new Int32Array(SLOTS)
  /** The number of chunks in the chain of each slot. */
  readonly chunks = new Int32Array(SLOTS)
  /** Counts the chunks that are taken into use. The scrub resets it. */
  taken = 0

  readonly #heads = new Int32Array(SLOTS)
  // A bit for each slot with a chain.
  readonly #used = new Int32Array((SLOTS + 31) >>> 5)
  readonly #memory = new GrowingMemory(MAX_BYTES)
  #slotsInUse = 0
  #chunksInUse = 0
  // Chunk 0 is never used: 0 means none.
  #top = CHUNK_WORDS
  #freeChunk = 0

  constructor() {
    this.reserve(0)
  }

  /** Makes room for `entries` in all. */
  reserve(entries: number): void {
    const chunks = FIRST_CHUNKS + Math.ceil(entries / CHUNK_ENTRIES)
    this.pool = new Int32Array(this.#memory.reserve(chunks * CHUNK_WORDS * 4))
  }

  get bytes(): number {
    return this.pool.byteLength + this.tails.byteLength * 3 + this.#used.byteLength
  }

  /** A lower bound of the number of entries: without those in the last chunk of each slot. */
  get entriesAtLeast(): number {
    return (this.#chunksInUse - this.#slotsInUse) * CHUNK_ENTRIES
  }

  /** Counts the entries. It visits every slot. */
  countEntries(): number {
    let count = this.entriesAtLeast
    for (const tail of this.tails) if (tail !== 0) count += (((tail - 1) & IN_CHUNK) - ENTRIES + 1) / 2
    return count
  }

  /** Queues an entry that is due in 0 to 2^31 - 1 ticks, in the finest level that reaches its due tick. */
  enqueue(index: number, due: number): void {
    const low = this.low
    const ahead = (due - low) | 0
    const slot =
      ahead < 512 - (low & 0xff)
        ? due & 511
        : ahead < 0x2_0000 - (low & 0xffff)
          ? 512 + ((due >>> 8) & 511)
          : this.#coarseSlot(due)
    this.push(slot, index, due)
  }

  push(slot: number, index: number, due: number): void {
    const tails = this.tails
    const tail = tails[slot]!
    if ((tail & IN_CHUNK) === 0) {
      this.#pushOnNewChunk(slot, index, due)
      return
    }
    const pool = this.pool
    pool[tail] = index
    // Tails are even, and V8 need not check `|` for overflow.
    pool[tail | 1] = due
    tails[slot] = tail + 2
  }

  /** The first chunk of a slot with a chain. */
  front(slot: number): number {
    return this.#heads[slot]!
  }

  /** Where the entries of the first chunk of a slot end. They begin at offset `ENTRIES` of the chunk. */
  frontEnd(slot: number): number {
    return this.chunks[slot] === 1 ? this.tails[slot]! : this.#heads[slot]! + CHUNK_WORDS
  }

  /** Takes the first chunk off a slot with a chain. The caller reads it and then calls `release`. */
  shift(slot: number): number {
    const chunk = this.#heads[slot]!
    this.#chunksInUse--
    this.chunks[slot]!--
    if (this.chunks[slot] === 0) {
      this.tails[slot] = 0
      this.#used[slot >>> 5]! &= ~(1 << (slot & 31))
      this.#slotsInUse--
    } else {
      this.#heads[slot] = this.pool[chunk]!
    }
    return chunk
  }

  release(chunk: number): void {
    this.pool[chunk] = this.#freeChunk
    this.#freeChunk = chunk
  }

  /** The first slot in use in this range, or -1. */
  firstUsed(fromInclusive: number, untilExclusive: number): number {
    const used = this.#used
    for (let slot = fromInclusive; slot < untilExclusive; slot = (slot | 31) + 1) {
      const bits = used[slot >>> 5]! & (-1 << (slot & 31))
      if (bits !== 0) {
        const found = (slot & ~31) + (31 - Math.clz32(bits & -bits))
        return found < untilExclusive ? found : -1
      }
    }
    return -1
  }

  /** Drops every entry. */
  clear(): void {
    if (this.#slotsInUse === 0) return
    this.tails.fill(0)
    this.chunks.fill(0)
    this.#used.fill(0)
    this.#slotsInUse = 0
    this.#chunksInUse = 0
    this.#top = CHUNK_WORDS
    this.#freeChunk = 0
  }

  #coarseSlot(due: number): number {
    const low = this.low
    return ((due - low) | 0) < 0x200_0000 - (low & 0xff_ffff)
      ? 1024 + ((due >>> 16) & 511)
      : 1536 + (due >>> 24)
  }

  #pushOnNewChunk(slot: number, index: number, due: number): void {
    const chunk = this.#take()
    const tail = this.tails[slot]!
    if (tail === 0) {
      this.#heads[slot] = chunk
      this.#used[slot >>> 5]! |= 1 << (slot & 31)
      this.#slotsInUse++
    } else {
      this.pool[tail - CHUNK_WORDS] = chunk
    }
    this.#chunksInUse++
    this.chunks[slot]!++
    this.pool[chunk | ENTRIES] = index
    this.pool[chunk | (ENTRIES + 1)] = due
    this.tails[slot] = chunk | (ENTRIES + 2)
  }

  #take(): number {
    this.taken++
    const chunk = this.#freeChunk
    if (chunk !== 0) {
      this.#freeChunk = this.pool[chunk]!
      return chunk
    }
    const top = this.#top
    if (top + CHUNK_WORDS > this.pool.length) {
      this.pool = new Int32Array(this.#memory.grow((top + CHUNK_WORDS) * 4))
    }
    this.#top = top + CHUNK_WORDS
    return top
  }
}
