import { writeString } from '../../bytes/write-string.js'
import { newByteView, type ByteView } from './byte-view.js'

/** Writes numbers and strings into a buffer that grows as needed. Numbers are little-endian unless the name says otherwise. */
export class Packer {
  #buffer: ByteView
  #length = 0

  constructor(capacity = 1024) {
    this.#buffer = newByteView(capacity)
  }

  byte(value: number): this {
    this.#reserve(1)
    this.#buffer.bytes[this.#length++] = value
    return this
  }

  short(value: number): this {
    this.#reserve(2)
    this.#buffer.view.setUint16(this.#length, value, true)
    this.#length += 2
    return this
  }

  int(value: number): this {
    this.#reserve(4)
    this.#buffer.view.setUint32(this.#length, value, true)
    this.#length += 4
    return this
  }

  double(value: number): this {
    this.#reserve(8)
    this.#buffer.view.setFloat64(this.#length, value, true)
    this.#length += 8
    return this
  }

  intBigEndian(value: number): this {
    this.#reserve(4)
    this.#buffer.view.setUint32(this.#length, value)
    this.#length += 4
    return this
  }

  doubleBigEndian(value: number): this {
    this.#reserve(8)
    this.#buffer.view.setFloat64(this.#length, value)
    this.#length += 8
    return this
  }

  /** Bytes without their length. */
  bytes(value: Uint8Array): this {
    this.#reserve(value.length)
    this.#buffer.bytes.set(value, this.#length)
    this.#length += value.length
    return this
  }

  /** A string without its length. Answers how many bytes it has. */
  string(value: string): number {
    // UTF-8 needs at most three bytes for a code unit.
    this.#reserve(value.length * 3)
    const from = this.#length
    this.#length = writeString(this.#buffer.bytes, from, value)
    return this.#length - from
  }

  /** A string after its length in one byte. */
  stringAfterByte(value: string): this {
    const at = this.#length
    // Writing the string may replace the buffer, so the length is set afterwards.
    const length = this.byte(0).string(value)
    this.#buffer.bytes[at] = length
    return this
  }

  /** A string after its length in two bytes. */
  stringAfterShort(value: string): this {
    const at = this.#length
    const length = this.short(0).string(value)
    this.#buffer.view.setUint16(at, length, true)
    return this
  }

  /** The bytes that `write` writes, after their length in four bytes. */
  blockAfterInt(write: () => void): this {
    const at = this.#length
    this.int(0)
    write()
    this.#buffer.view.setUint32(at, this.#length - at - 4, true)
    return this
  }

  blockAfterIntBigEndian(write: () => void): this {
    const at = this.#length
    this.intBigEndian(0)
    write()
    this.#buffer.view.setUint32(at, this.#length - at - 4)
    return this
  }

  /** Lets `write` write up to `count` bytes at an offset. It returns where it ended. */
  writeUpTo(count: number, write: (buffer: ByteView, at: number) => number): void {
    this.#reserve(count)
    this.#length = write(this.#buffer, this.#length)
  }

  done(): Buffer {
    return this.#buffer.bytes.subarray(0, this.#length)
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    const { bytes } = this.#buffer
    if (needed <= bytes.length) return
    const larger = newByteView(Math.max(needed, bytes.length * 2))
    bytes.copy(larger.bytes, 0, 0, this.#length)
    this.#buffer = larger
  }
}
