import { type Chunk, dueAtOf, tailBytes } from './chunk.js'
import type { Places } from './place-order.js'

// What a row takes in memory beside its tail.
const ROW_OVERHEAD = 48

// A row: f64 position, f64 revision, f64 dueAt, u32 bytes, u32 slot, u32 ordinal, u32 unused.
const WORDS = 5
const HALVES = 2 * WORDS

/**
 * Rows in the order in which they were found: chunk by chunk, so that whatever a page needs of a row is read while
 * its chunk is at hand. A row is known by its number, and lies in one piece: to read it is to miss the cache once.
 */
export class SegmentRows implements Places {
  size = 0
  #words: Float64Array<ArrayBuffer>
  #halves: Uint32Array

  constructor(capacity: number) {
    this.#words = new Float64Array(capacity * WORDS)
    this.#halves = new Uint32Array(this.#words.buffer)
  }

  push(chunk: Chunk, position: number, revision: number, slot: number, ordinal: number): void {
    const number = this.size++
    if (number * WORDS === this.#words.length) this.#grow()
    const word = number * WORDS
    this.#words[word] = position
    this.#words[word + 1] = revision
    this.#words[word + 2] = dueAtOf(chunk, ordinal)
    const half = number * HALVES + 6
    this.#halves[half] = ROW_OVERHEAD + tailBytes(chunk, chunk.tail(ordinal))
    this.#halves[half + 1] = slot
    this.#halves[half + 2] = ordinal
  }

  position(number: number): number {
    return this.#words[number * WORDS]!
  }

  revision(number: number): number {
    return this.#words[number * WORDS + 1]!
  }

  dueAt(number: number): number {
    return this.#words[number * WORDS + 2]!
  }

  /** How many bytes it takes in memory. */
  bytes(number: number): number {
    return this.#halves[number * HALVES + 6]!
  }

  /** Which of the segment's chunks it lies in. */
  slot(number: number): number {
    return this.#halves[number * HALVES + 7]!
  }

  /** Where it lies in its chunk. */
  ordinal(number: number): number {
    return this.#halves[number * HALVES + 8]!
  }

  /** Only the rows of these numbers, in their order. */
  only(numbers: Uint32Array): SegmentRows {
    const rows = new SegmentRows(Math.max(numbers.length, this.#words.length / WORDS))
    for (const number of numbers) {
      const from = number * WORDS
      const to = rows.size++ * WORDS
      for (let i = 0; i < WORDS; i++) rows.#words[to + i] = this.#words[from + i]!
    }
    return rows
  }

  #grow(): void {
    const before = this.#words
    this.#words = new Float64Array(2 * before.length)
    this.#words.set(before)
    this.#halves = new Uint32Array(this.#words.buffer)
  }
}
