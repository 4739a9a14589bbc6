import { Buffer } from 'node:buffer'
import { copyBytes } from '../../bytes/copy-bytes.js'
import { writeString } from '../../bytes/write-string.js'

/**
 * Arrays in PostgreSQL's binary format. A header has the dimensions, whether there are nulls, the type, the length and
 * the lower bound. Then follow the length and the bytes of each element; the length is -1 for a null. With direct
 * reads and writes, thousands of elements cost little more than their bytes.
 *
 * Proven by test/store/postgres/codec.test.ts.
 */
const HEADER = 20
const INT8 = 20
const TEXT = 25
const BYTEA = 17
const TWO_32 = 4_294_967_296

type Maybe<Value> = Value | null | undefined

/** Writes an array element by element. The caller gives the most bytes that all elements can take. */
export class ArrayWriter {
  readonly #bytes: Buffer
  readonly #view: DataView
  #at = HEADER
  #hasNulls = false

  private constructor(type: number, length: number, maxBytes: number) {
    this.#bytes = Buffer.allocUnsafe(HEADER + length * 4 + maxBytes)
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length)
    this.#view.setInt32(0, 1)
    this.#view.setInt32(8, type)
    this.#view.setInt32(12, length)
    this.#view.setInt32(16, 1)
  }

  static ofInt8(length: number): ArrayWriter {
    return new ArrayWriter(INT8, length, length * 8)
  }

  /** `units` is the number of UTF-16 code units of all strings. Each takes at most three bytes in UTF-8. */
  static ofText(length: number, units: number): ArrayWriter {
    return new ArrayWriter(TEXT, length, units * 3)
  }

  static ofBytea(length: number, bytes: number): ArrayWriter {
    return new ArrayWriter(BYTEA, length, bytes)
  }

  addNull(): void {
    this.#hasNulls = true
    this.#view.setInt32(this.#at, -1)
    this.#at += 4
  }

  addNumber(value: number): void {
    const high = Math.floor(value / TWO_32)
    this.#view.setInt32(this.#at, 8)
    this.#view.setInt32(this.#at + 4, high)
    this.#view.setUint32(this.#at + 8, value - high * TWO_32)
    this.#at += 12
  }

  /** The string must not contain U+0000. */
  addString(text: string): void {
    const from = this.#at + 4
    const end = writeString(this.#bytes, from, text)
    this.#view.setInt32(this.#at, end - from)
    this.#at = end
  }

  addBytes(bytes: Uint8Array): void {
    this.#view.setInt32(this.#at, bytes.length)
    this.#bytes.set(bytes, this.#at + 4)
    this.#at += 4 + bytes.length
  }

  /** The bytes from `from` up to `end`. */
  addSlice(bytes: DataView, from: number, end: number): void {
    this.#view.setInt32(this.#at, end - from)
    this.#at = copyBytes(bytes, from, end, this.#view, this.#at + 4)
  }

  done(): Buffer {
    this.#view.setInt32(4, this.#hasNulls ? 1 : 0)
    return this.#bytes.subarray(0, this.#at)
  }
}

/** Encodes an array of integers. */
export function int8Array<Item>(
  items: readonly Item[],
  of: (item: Item, index: number) => Maybe<number>,
): Buffer {
  const writer = ArrayWriter.ofInt8(items.length)
  for (let i = 0; i < items.length; i++) {
    const value = of(items[i]!, i)
    if (value === null || value === undefined) writer.addNull()
    else writer.addNumber(value)
  }
  return writer.done()
}

/** Encodes an array of strings. PostgreSQL cannot store U+0000, so it becomes U+FFFD, as a lone surrogate does. */
export function textArray<Item>(
  items: readonly Item[],
  of: (item: Item, index: number) => Maybe<string>,
): Buffer {
  const strings = new Array<Maybe<string>>(items.length)
  let units = 0
  for (let i = 0; i < items.length; i++) {
    const text = of(items[i]!, i)
    strings[i] = text
    units += text?.length ?? 0
  }
  const writer = ArrayWriter.ofText(items.length, units)
  for (const text of strings) {
    if (text === null || text === undefined) writer.addNull()
    else writer.addString(storable(text))
  }
  return writer.done()
}

export function byteaArray<Item>(items: readonly Item[], of: (item: Item) => Maybe<Uint8Array>): Buffer {
  let size = 0
  for (const item of items) size += of(item)?.length ?? 0
  const writer = ArrayWriter.ofBytea(items.length, size)
  for (const item of items) {
    const bytes = of(item)
    if (bytes === null || bytes === undefined) writer.addNull()
    else writer.addBytes(bytes)
  }
  return writer.done()
}

/** The string as PostgreSQL can store it. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** The number of elements; 0 for a null. */
function lengthOf(array: Buffer | null): number {
  return array === null || array.readInt32BE(0) === 0 ? 0 : array.readInt32BE(12)
}

/** Decodes an array of integers; NaN for a null element. */
export function int8Values(array: Buffer | null): Float64Array {
  const values = new Float64Array(lengthOf(array))
  let at = HEADER
  for (let i = 0; i < values.length; i++) {
    const length = array!.readInt32BE(at)
    values[i] = length < 0 ? Number.NaN : int8(array!, at + 4)
    at += 4 + Math.max(length, 0)
  }
  return values
}

function int8(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at) * TWO_32 + buffer.readUInt32BE(at + 4)
}

/** An array of strings or bytes. Each element is decoded when it is read. */
export class ArrayElements {
  readonly #array: Buffer | null
  readonly #ends: Uint32Array

  constructor(array: Buffer | null) {
    this.#array = array
    this.#ends = new Uint32Array(lengthOf(array))
    let at = HEADER
    for (let i = 0; i < this.#ends.length; i++) {
      at += 4 + Math.max(array!.readInt32BE(at), 0)
      this.#ends[i] = at
    }
  }

  get length(): number {
    return this.#ends.length
  }

  isNull(index: number): boolean {
    return this.#array!.readInt32BE(this.#begin(index) - 4) < 0
  }

  string(index: number): string {
    return this.#array!.toString('utf8', this.#begin(index), this.#ends[index])
  }

  /** A view of the received bytes, not a copy. */
  bytes(index: number): Uint8Array {
    return this.#array!.subarray(this.#begin(index), this.#ends[index])
  }

  #begin(index: number): number {
    return (index === 0 ? HEADER : this.#ends[index - 1]!) + 4
  }
}
