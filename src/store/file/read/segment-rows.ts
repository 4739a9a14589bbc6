import { type Chunk, dueAtOf, tailBytes } from '../rows/chunk.js'
import type { Places } from './place-order.js'

// The memory that a row takes beside its tail.
const ROW_OVERHEAD = 48

// The fields of a row: f64 position, f64 revision, f64 dueAt, u32 bytes, u32 slot, u32 ordinal, u32 unused.
const WORDS = 5
const HALVES = 2 * WORDS

/**
 * The rows of a segment, numbered chunk by chunk. All that a page needs of a row is copied while its chunk is at hand.
 * The fields of a row are adjacent, so reading a row costs one cache miss.
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

  /** The bytes that the row takes in memory. */
  bytes(number: number): number {
    return this.#halves[number * HALVES + 6]!
  }

  /** The slot of the row's chunk in the segment. */
  slot(number: number): number {
    return this.#halves[number * HALVES + 7]!
  }

  /** The row's ordinal in its chunk. */
  ordinal(number: number): number {
    return this.#halves[number * HALVES + 8]!
  }

  /** A copy with only these rows, in this order. */
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
