import { Buffer } from 'node:buffer'
import { copyBytes } from '../copy-bytes.js'
import { writeText } from '../write-text.js'

/**
 * Lists as PostgreSQL's wire has them in binary: a header (dimensions, whether there are nulls, type, length, lower
 * bound), then for each element its length and bytes, -1 for a null. Written and read here directly, thousands of
 * elements cost little more than their bytes.
 */
const HEADER = 20
const INT8 = 20
const TEXT = 25
const BYTEA = 17
const TWO_32 = 4_294_967_296

type Maybe<Value> = Value | null | undefined

/** A list that is written element by element. Of each it must be known before how many bytes all of them take at most. */
export class ListWriter {
  readonly #bytes: Buffer
  readonly #view: DataView
  #at = HEADER
  #hasNulls = false

  private constructor(type: number, length: number, mostBytes: number) {
    this.#bytes = Buffer.allocUnsafe(HEADER + length * 4 + mostBytes)
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length)
    this.#view.setInt32(0, 1)
    this.#view.setInt32(8, type)
    this.#view.setInt32(12, length)
    this.#view.setInt32(16, 1)
  }

  static ofInt8(length: number): ListWriter {
    return new ListWriter(INT8, length, length * 8)
  }

  /** `units` is how many code units the texts have together: UTF-8 takes at most three bytes for each. */
  static ofText(length: number, units: number): ListWriter {
    return new ListWriter(TEXT, length, units * 3)
  }

  static ofBytea(length: number, bytes: number): ListWriter {
    return new ListWriter(BYTEA, length, bytes)
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

  /** A text without U+0000. */
  addText(text: string): void {
    const from = this.#at + 4
    const end = writeText(this.#bytes, from, text)
    this.#view.setInt32(this.#at, end - from)
    this.#at = end
  }

  addBytes(bytes: Uint8Array): void {
    this.#view.setInt32(this.#at, bytes.length)
    this.#bytes.set(bytes, this.#at + 4)
    this.#at += 4 + bytes.length
  }

  /** Some of many bytes. */
  addSlice(bytes: DataView, from: number, end: number): void {
    this.#view.setInt32(this.#at, end - from)
    this.#at = copyBytes(bytes, from, end, this.#view, this.#at + 4)
  }

  done(): Buffer {
    this.#view.setInt32(4, this.#hasNulls ? 1 : 0)
    return this.#bytes.subarray(0, this.#at)
  }
}

/** A list of whole numbers. */
export function int8Array<Item>(
  items: readonly Item[],
  of: (item: Item, index: number) => Maybe<number>,
): Buffer {
  const list = ListWriter.ofInt8(items.length)
  for (let i = 0; i < items.length; i++) {
    const value = of(items[i]!, i)
    if (value === null || value === undefined) list.addNull()
    else list.addNumber(value)
  }
  return list.done()
}

/** A list of texts. What PostgreSQL cannot keep in a text, U+0000, becomes U+FFFD, as half a character does. */
export function textArray<Item>(
  items: readonly Item[],
  of: (item: Item, index: number) => Maybe<string>,
): Buffer {
  const texts = new Array<Maybe<string>>(items.length)
  let units = 0
  for (let i = 0; i < items.length; i++) {
    const text = of(items[i]!, i)
    texts[i] = text
    units += text?.length ?? 0
  }
  const list = ListWriter.ofText(items.length, units)
  for (const text of texts) {
    if (text === null || text === undefined) list.addNull()
    else list.addText(keepable(text))
  }
  return list.done()
}

export function byteaArray<Item>(items: readonly Item[], of: (item: Item) => Maybe<Uint8Array>): Buffer {
  let size = 0
  for (const item of items) size += of(item)?.length ?? 0
  const list = ListWriter.ofBytea(items.length, size)
  for (const item of items) {
    const bytes = of(item)
    if (bytes === null || bytes === undefined) list.addNull()
    else list.addBytes(bytes)
  }
  return list.done()
}

/** A text as PostgreSQL can keep it. */
export function keepable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** How many elements a list has; none for one that is null. */
function lengthOf(array: Buffer | null): number {
  return array === null || array.readInt32BE(0) === 0 ? 0 : array.readInt32BE(12)
}

/** The numbers of a list; NaN for a null. */
export function int8s(array: Buffer | null): Float64Array {
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

/** Texts or bytes of a list, each made when it is asked for. */
export class ElementList {
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

  text(index: number): string {
    return this.#array!.toString('utf8', this.#begin(index), this.#ends[index])
  }

  /** A view of what was received. */
  bytes(index: number): Uint8Array {
    return this.#array!.subarray(this.#begin(index), this.#ends[index])
  }

  #begin(index: number): number {
    return (index === 0 ? HEADER : this.#ends[index - 1]!) + 4
  }
}
