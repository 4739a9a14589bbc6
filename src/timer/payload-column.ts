import { JsonWriter } from './json-writer.js'
import { encodePayload } from './payload.js'

// What most payloads take, and room that is made for one before it is written.
const USUAL_BYTES = 160
const ROOM_BYTES = 1024
const MOST_FIRST_BYTES = 4 << 20
// A call that carries more goes another way: nobody should have to find so much memory in one piece.
const MOST_BYTES = 256 << 20

/** The payloads of one call as a store keeps them, one behind the other in the same bytes: no object for any of them. */
export class PayloadColumn {
  readonly #ends: Uint32Array
  #writer: JsonWriter
  #length = 0

  /** For as many as `count`. */
  constructor(count: number) {
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
      if (!this.#writer.append(payload)) {
        const bytes = encodePayload(payload)
        if (from + bytes.length > MOST_BYTES) return false
        this.#writer.appendBytes(bytes)
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

  /** One in bytes of its own, which do not keep the others. */
  copy(index: number): Uint8Array {
    return Buffer.from(this.view(index))
  }
}
