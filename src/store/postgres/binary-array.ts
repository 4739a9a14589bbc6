import { Buffer } from 'node:buffer'

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

/** A list of whole numbers. */
export function int8Array<Item>(
  items: readonly Item[],
  of: (item: Item, index: number) => Maybe<number>,
): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER + items.length * 12)
  let at = HEADER
  let hasNulls = false
  for (let i = 0; i < items.length; i++) {
    const value = of(items[i]!, i)
    if (value === null || value === undefined) {
      hasNulls = true
      at = buffer.writeInt32BE(-1, at)
      continue
    }
    const high = Math.floor(value / TWO_32)
    at = buffer.writeInt32BE(8, at)
    at = buffer.writeInt32BE(high, at)
    at = buffer.writeUInt32BE(value - high * TWO_32, at)
  }
  return withHeader(buffer, at, INT8, items.length, hasNulls)
}

/** A list of texts. What PostgreSQL cannot keep in a text, U+0000, becomes U+FFFD, as half a character does. */
export function textArray<Item>(
  items: readonly Item[],
  of: (item: Item, index: number) => Maybe<string>,
): Buffer {
  const texts = new Array<Maybe<string>>(items.length)
  let most = HEADER
  for (let i = 0; i < items.length; i++) {
    const text = of(items[i]!, i)
    texts[i] = text
    most += 4 + (text === null || text === undefined ? 0 : text.length * 3)
  }
  const buffer = Buffer.allocUnsafe(most)
  let at = HEADER
  let hasNulls = false
  for (const text of texts) {
    if (text === null || text === undefined) {
      hasNulls = true
      at = buffer.writeInt32BE(-1, at)
      continue
    }
    const bytes = buffer.write(keepable(text), at + 4)
    buffer.writeInt32BE(bytes, at)
    at += 4 + bytes
  }
  return withHeader(buffer, at, TEXT, items.length, hasNulls)
}

export function byteaArray<Item>(items: readonly Item[], of: (item: Item) => Maybe<Uint8Array>): Buffer {
  let size = HEADER
  for (const item of items) size += 4 + (of(item)?.length ?? 0)
  const buffer = Buffer.allocUnsafe(size)
  let at = HEADER
  let hasNulls = false
  for (const item of items) {
    const bytes = of(item)
    if (bytes === null || bytes === undefined) {
      hasNulls = true
      at = buffer.writeInt32BE(-1, at)
      continue
    }
    at = buffer.writeInt32BE(bytes.length, at)
    buffer.set(bytes, at)
    at += bytes.length
  }
  return withHeader(buffer, at, BYTEA, items.length, hasNulls)
}

/** A text as PostgreSQL can keep it. */
export function keepable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

function withHeader(buffer: Buffer, end: number, type: number, length: number, hasNulls: boolean): Buffer {
  buffer.writeInt32BE(1, 0)
  buffer.writeInt32BE(hasNulls ? 1 : 0, 4)
  buffer.writeInt32BE(type, 8)
  buffer.writeInt32BE(length, 12)
  buffer.writeInt32BE(1, 16)
  return end === buffer.length ? buffer : buffer.subarray(0, end)
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
