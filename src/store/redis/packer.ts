import { writeText } from '../write-text.js'

/** Writes numbers and texts one after the other, little-endian unless said otherwise. Grows as needed. */
export class Packer {
  #bytes: Buffer
  #length = 0

  constructor(capacity = 1024) {
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  byte(value: number): this {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
    return this
  }

  short(value: number): this {
    this.#reserve(2)
    this.#length = this.#bytes.writeUInt16LE(value, this.#length)
    return this
  }

  int(value: number): this {
    this.#reserve(4)
    this.#length = this.#bytes.writeUInt32LE(value, this.#length)
    return this
  }

  double(value: number): this {
    this.#reserve(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
    return this
  }

  intBigEndian(value: number): this {
    this.#reserve(4)
    this.#length = this.#bytes.writeUInt32BE(value, this.#length)
    return this
  }

  doubleBigEndian(value: number): this {
    this.#reserve(8)
    this.#length = this.#bytes.writeDoubleBE(value, this.#length)
    return this
  }

  /** Bytes as they are, without their length. */
  bytes(value: Uint8Array): this {
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
    return this
  }

  /** A text without its length; answers how many bytes it took. */
  text(value: string): number {
    // UTF-8 takes at most three bytes for a code unit.
    this.#reserve(value.length * 3)
    const from = this.#length
    this.#length = writeText(this.#bytes, from, value)
    return this.#length - from
  }

  /** A text after its length in one byte. */
  textAfterByte(value: string): this {
    const at = this.#length
    // The text may need another buffer: only then is it known where its length goes.
    const length = this.byte(0).text(value)
    this.#bytes[at] = length
    return this
  }

  /** A text after its length in two bytes. */
  textAfterShort(value: string): this {
    const at = this.#length
    const length = this.short(0).text(value)
    this.#bytes.writeUInt16LE(length, at)
    return this
  }

  /** Whatever `write` writes, after its length in four bytes. */
  blockAfterInt(write: () => void): this {
    const at = this.#length
    this.int(0)
    write()
    this.#bytes.writeUInt32LE(this.#length - at - 4, at)
    return this
  }

  blockAfterIntBigEndian(write: () => void): this {
    const at = this.#length
    this.intBigEndian(0)
    write()
    this.#bytes.writeUInt32BE(this.#length - at - 4, at)
    return this
  }

  /** Lets `write` write up to `count` bytes; it is told where, and answers where it ended. */
  room(count: number, write: (bytes: Buffer, at: number) => number): void {
    this.#reserve(count)
    this.#length = write(this.#bytes, this.#length)
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
