import { JsonWriter } from './json-writer.js'
import { encodePayload } from './payload.js'

// Most payloads are smaller than this.
const EXPECTED_BYTES = 160
// How much room there is at least before a payload is written.
const ROOM_BYTES = 1024
const MAX_FIRST_BYTES = 4 << 20
// Beyond this a call uses single payloads: so much memory in one piece is hard to get.
const MAX_BYTES = 256 << 20
// Once the fast writer has declined this many payloads, the call no longer uses it.
const MAX_MISSES = 8

/**
 * The encoded payloads of one call, one after the other in one buffer. A payload needs no object of its own.
 * Proven by test/timer/payload-column.test.ts.
 */
export class PayloadColumn {
  readonly #ends: Uint32Array
  #writer: JsonWriter
  readonly #maxBytes: number
  #length = 0
  #misses = 0

  /** For up to `count` payloads of up to `maxBytes` together. */
  constructor(count: number, maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes
    this.#ends = new Uint32Array(count)
    this.#writer = new JsonWriter(Math.min(count * EXPECTED_BYTES + ROOM_BYTES, MAX_FIRST_BYTES))
  }

  get length(): number {
    return this.#length
  }

  /** All payloads. Payload `index` is at `from(index)` to `end(index)`. */
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

  /** Adds a payload, encoded as `encodePayload` does. False if it would exceed `maxBytes`; then it is not added. */
  add(payload: unknown): boolean {
    const from = this.#writer.at
    if (payload !== undefined) {
      if (this.#writer.left < ROOM_BYTES) this.#writer.grow(ROOM_BYTES)
      if (this.#misses === MAX_MISSES || !this.#writer.append(payload)) {
        this.#misses = Math.min(this.#misses + 1, MAX_MISSES)
        const bytes = encodePayload(payload)
        if (from + bytes.length > this.#maxBytes) return false
        this.#writer.appendBytes(bytes)
      }
      if (this.#writer.at > this.#maxBytes) {
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

  /** One payload, as a view of the shared buffer. */
  view(index: number): Uint8Array {
    return this.bytes.subarray(this.from(index), this.end(index))
  }
}
