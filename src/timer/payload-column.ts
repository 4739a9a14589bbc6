import { JsonWriter } from './json-writer.js'
import { encodePayload } from './payload.js'

// What most payloads take, and room that is made for one before it is written.
const USUAL_BYTES = 160
const ROOM_BYTES = 1024
const MOST_FIRST_BYTES = 4 << 20
// A call that carries more goes another way: nobody should have to find so much memory in one piece.
const MOST_BYTES = 256 << 20
// After so many that the writer was not sure of, the others are not tried.
const MOST_MISSES = 8

/** The payloads of one call as a store keeps them, one behind the other in the same bytes: no object for any of them. */
export class PayloadColumn {
  readonly #ends: Uint32Array
  #writer: JsonWriter
  readonly #mostBytes: number
  #length = 0
  #misses = 0

  /** For as many as `count`, of so many bytes together. */
  constructor(count: number, mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes
    this.#ends = new Uint32Array(count)
    this.#writer = new JsonWriter(Math.min(count * USUAL_BYTES + ROOM_BYTES, MOST_FIRST_BYTES))
  }

  get length(): number {
    return this.#length
  }

  /** All of them; payload `index` lies from `from(index)` to `end(index)`. */
  get bytes(): Buffer {
    return this.#writer.bytes
  }

  dataView(): DataView {
    const { buffer, byteOffset, length } = this.bytes
    return new DataView(buffer, byteOffset, length)
  }

  from(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!
  }

  end(index: number): number {
    return this.#ends[index]!
  }

  /** Writes one behind the last, as `encodePayload` does. False, and it is not written, when all together are too much. */
  add(payload: unknown): boolean {
    const from = this.#writer.at
    if (payload !== undefined) {
      if (this.#writer.left < ROOM_BYTES) this.#writer.grow(ROOM_BYTES)
      if (this.#misses === MOST_MISSES || !this.#writer.append(payload)) {
        this.#misses = Math.min(this.#misses + 1, MOST_MISSES)
        const bytes = encodePayload(payload)
        if (from + bytes.length > this.#mostBytes) return false
        this.#writer.appendBytes(bytes)
      }
      if (this.#writer.at > this.#mostBytes) {
        this.#writer.cut(from)
        return false
      }
    }
    this.#ends[this.#length++] = this.#writer.at
    return true
  }

  removeLast(): void {
    this.#writer.cut(this.from(--this.#length))
  }

  /** One as a view of what it shares with the others. */
  view(index: number): Uint8Array {
    return this.bytes.subarray(this.from(index), this.end(index))
  }
}
