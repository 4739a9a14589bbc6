import { writeText } from '../write-text.js'
import { newSheet, type Sheet } from './sheet.js'

/** Writes numbers and texts one after the other, little-endian unless said otherwise. Grows as needed. */
export class Packer {
  #sheet: Sheet
  #length = 0

  constructor(capacity = 1024) {
    this.#sheet = newSheet(capacity)
  }

  byte(value: number): this {
    this.#reserve(1)
    this.#sheet.bytes[this.#length++] = value
    return this
  }

  short(value: number): this {
    this.#reserve(2)
    this.#sheet.view.setUint16(this.#length, value, true)
    this.#length += 2
    return this
  }

  int(value: number): this {
    this.#reserve(4)
    this.#sheet.view.setUint32(this.#length, value, true)
    this.#length += 4
    return this
  }

  double(value: number): this {
    this.#reserve(8)
    this.#sheet.view.setFloat64(this.#length, value, true)
    this.#length += 8
    return this
  }

  intBigEndian(value: number): this {
    this.#reserve(4)
    this.#sheet.view.setUint32(this.#length, value)
    this.#length += 4
    return this
  }

  doubleBigEndian(value: number): this {
    this.#reserve(8)
    this.#sheet.view.setFloat64(this.#length, value)
    this.#length += 8
    return this
  }

  /** Bytes as they are, without their length. */
  bytes(value: Uint8Array): this {
    this.#reserve(value.length)
    this.#sheet.bytes.set(value, this.#length)
    this.#length += value.length
    return this
  }

  /** A text without its length; answers how many bytes it took. */
  text(value: string): number {
    // UTF-8 takes at most three bytes for a code unit.
    this.#reserve(value.length * 3)
    const from = this.#length
    this.#length = writeText(this.#sheet.bytes, from, value)
    return this.#length - from
  }

  /** A text after its length in one byte. */
  textAfterByte(value: string): this {
    const at = this.#length
    // The text may need another buffer: only then is it known where its length goes.
    const length = this.byte(0).text(value)
    this.#sheet.bytes[at] = length
    return this
  }

  /** A text after its length in two bytes. */
  textAfterShort(value: string): this {
    const at = this.#length
    const length = this.short(0).text(value)
    this.#sheet.view.setUint16(at, length, true)
    return this
  }

  /** Whatever `write` writes, after its length in four bytes. */
  blockAfterInt(write: () => void): this {
    const at = this.#length
    this.int(0)
    write()
    this.#sheet.view.setUint32(at, this.#length - at - 4, true)
    return this
  }

  blockAfterIntBigEndian(write: () => void): this {
    const at = this.#length
    this.intBigEndian(0)
    write()
    this.#sheet.view.setUint32(at, this.#length - at - 4)
    return this
  }

  /** Lets `write` write up to `count` bytes; it is told where, and answers where it ended. */
  room(count: number, write: (sheet: Sheet, at: number) => number): void {
    this.#reserve(count)
    this.#length = write(this.#sheet, this.#length)
  }

  done(): Buffer {
    return this.#sheet.bytes.subarray(0, this.#length)
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    const { bytes } = this.#sheet
    if (needed <= bytes.length) return
    const larger = newSheet(Math.max(needed, bytes.length * 2))
    bytes.copy(larger.bytes, 0, 0, this.#length)
    this.#sheet = larger
  }
}
