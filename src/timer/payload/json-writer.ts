const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const ZERO = 0x30

// Deeper values are left to `JSON.stringify`, which also detects cycles.
const MAX_DEPTH = 16
// More bytes than any number or literal takes, with its punctuation.
const SLACK_BYTES = 32

/**
 * Writes plain data as `JSON.stringify` does, but in UTF-8 and straight into a buffer. For short payloads that takes
 * half the time and leaves no strings for the garbage collector. It declines values with a prototype or a `toJSON` of
 * their own, and values that do not fit: the caller then uses `JSON.stringify`.
 * Proven by test/timer/json-writer.test.ts.
 */
export class JsonWriter {
  #bytes: Buffer
  #at = 0

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size)
  }

  /** The buffer. It is written up to `at`. */
  get bytes(): Buffer {
    return this.#bytes
  }

  /** The offset of the next value. */
  get at(): number {
    return this.#at
  }

  /** How many bytes are free. */
  get left(): number {
    return this.#bytes.length - this.#at
  }

  /** Writes a value and returns a view of its bytes in the shared buffer; undefined if it declines the value. */
  write(value: unknown): Uint8Array | undefined {
    const from = this.#at
    return this.append(value) ? this.#bytes.subarray(from, this.#at) : undefined
  }

  /** Writes a value after the last one. False if it declines the value; then nothing is written. */
  append(value: unknown): boolean {
    const from = this.#at
    // Closing brackets are not checked one by one. A typed array ignores writes beyond its end, so check here.
    if (this.#value(value, 0) && this.#at <= this.#bytes.length) return true
    this.#at = from
    return false
  }

  /** Adds bytes that were encoded elsewhere after the last value. */
  appendBytes(bytes: Uint8Array): void {
    this.grow(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** Discards everything from `at` on. */
  cut(at: number): void {
    this.#at = at
  }

  /** Makes room for at least `least` more bytes. Existing views stay valid. */
  grow(least: number): void {
    if (this.left >= least) return
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + least))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }

  #value(value: unknown, depth: number): boolean {
    if (this.#at + SLACK_BYTES > this.#bytes.length) return false
    switch (typeof value) {
      case 'string':
        return this.#string(value)
      case 'number':
        return this.#number(value)
      case 'boolean':
        return this.#ascii(value ? 'true' : 'false')
      case 'object':
        if (value === null) return this.#ascii('null')
        if (depth === MAX_DEPTH || 'toJSON' in value) return false
        return Array.isArray(value) ? this.#array(value, depth) : this.#object(value, depth)
      case 'undefined':
      case 'function':
      case 'symbol':
      case 'bigint':
        return false
    }
  }

  #object(object: object, depth: number): boolean {
    if (Object.getPrototypeOf(object) !== Object.prototype) return false
    const bytes = this.#bytes
    bytes[this.#at++] = OPEN_OBJECT
    let isFirst = true
    // Only own properties: JSON does not include properties that somebody added to Object.prototype.
    for (const name in object) {
      if (!Object.hasOwn(object, name)) return false
      const value: unknown = object[name as keyof typeof object]
      // JSON omits it.
      if (value === undefined) continue
      if (isFirst) isFirst = false
      else bytes[this.#at++] = COMMA
      if (!this.#string(name)) return false
      bytes[this.#at++] = COLON
      if (!this.#value(value, depth + 1)) return false
    }
    bytes[this.#at++] = CLOSE_OBJECT
    return true
  }

  #array(array: readonly unknown[], depth: number): boolean {
    if (Object.getPrototypeOf(array) !== Array.prototype) return false
    const bytes = this.#bytes
    bytes[this.#at++] = OPEN_ARRAY
    for (let index = 0; index < array.length; index++) {
      if (index > 0) bytes[this.#at++] = COMMA
      if (!this.#value(array[index], depth + 1)) return false
    }
    bytes[this.#at++] = CLOSE_ARRAY
    return true
  }

  #string(text: string): boolean {
    const { length } = text
    const bytes = this.#bytes
    let at = this.#at
    if (at + length + SLACK_BYTES > bytes.length) return false
    bytes[at++] = QUOTE
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index)
      if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) return this.#escapedString(text)
      bytes[at++] = code
    }
    bytes[at++] = QUOTE
    this.#at = at
    return true
  }

  /** Writes a string with characters that JSON escapes or that take more than one byte. */
  #escapedString(text: string): boolean {
    const json = JSON.stringify(text)
    // UTF-8 takes at most three bytes for a code unit.
    if (this.#at + json.length * 3 + SLACK_BYTES > this.#bytes.length) return false
    this.#at += this.#bytes.write(json, this.#at)
    return true
  }

  #number(number: number): boolean {
    if ((number | 0) !== number || number < 0)
      return this.#ascii(Number.isFinite(number) ? String(number) : 'null')
    let digits = 1
    for (let left = number; left >= 10; left = (left / 10) | 0) digits++
    let at = (this.#at += digits)
    let left = number
    do {
      const tenth = (left / 10) | 0
      this.#bytes[--at] = ZERO + left - tenth * 10
      left = tenth
    } while (left > 0)
    return true
  }

  #ascii(text: string): boolean {
    for (let index = 0; index < text.length; index++) this.#bytes[this.#at++] = text.charCodeAt(index)
    return true
  }
}
