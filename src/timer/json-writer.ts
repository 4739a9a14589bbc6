const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const ZERO = 0x30

// What is deeper is left to `JSON.stringify`, which also finds what contains itself.
const MOST_DEEP = 16
// More than any number, word or punctuation between two of them takes.
const ROOM = 32

/**
 * Writes plain data as `JSON.stringify` would, in UTF-8, straight into bytes: for the short objects that payloads are
 * it takes half the time, and leaves no texts to collect. What it is not sure of it does not write: whatever has a
 * prototype or a `toJSON` of its own, or does not fit.
 */
export class JsonWriter {
  #bytes: Buffer
  #at = 0

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size)
  }

  /** What was written, up to `at`. */
  get bytes(): Buffer {
    return this.#bytes
  }

  /** Where the next value begins. */
  get at(): number {
    return this.#at
  }

  /** How many bytes may still be written. */
  get left(): number {
    return this.#bytes.length - this.#at
  }

  /** The bytes of a value, a view of what is shared with those before and after it; undefined when not sure. */
  write(value: unknown): Uint8Array | undefined {
    const from = this.#at
    return this.append(value) ? this.#bytes.subarray(from, this.#at) : undefined
  }

  /** Writes a value behind the last. False, and it is not written, when not sure. */
  append(value: unknown): boolean {
    const from = this.#at
    // What goes beyond the end is written nowhere: many brackets may close at once.
    if (this.#value(value, 0) && this.#at <= this.#bytes.length) return true
    this.#at = from
    return false
  }

  /** Puts what was written elsewhere behind the last. */
  appendBytes(bytes: Uint8Array): void {
    this.grow(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** Forgets what was written from `at` on. */
  cut(at: number): void {
    this.#at = at
  }

  /** Makes room for `least` more bytes. Views of what was written stay as they are. */
  grow(least: number): void {
    if (this.left >= least) return
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#at + least))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }

  #value(value: unknown, depth: number): boolean {
    if (this.#at + ROOM > this.#bytes.length) return false
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        return this.#number(value)
      case 'boolean':
        return this.#letters(value ? 'true' : 'false')
      case 'object':
        if (value === null) return this.#letters('null')
        if (depth === MOST_DEEP || 'toJSON' in value) return false
        return Array.isArray(value) ? this.#list(value, depth) : this.#object(value, depth)
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
    // Its own and no others: nobody should add to the prototype of all objects, and JSON would not show it.
    for (const name in object) {
      if (!Object.hasOwn(object, name)) return false
      const value: unknown = object[name as keyof typeof object]
      // JSON leaves it out.
      if (value === undefined) continue
      if (isFirst) isFirst = false
      else bytes[this.#at++] = COMMA
      if (!this.#text(name)) return false
      bytes[this.#at++] = COLON
      if (!this.#value(value, depth + 1)) return false
    }
    bytes[this.#at++] = CLOSE_OBJECT
    return true
  }

  #list(list: readonly unknown[], depth: number): boolean {
    if (Object.getPrototypeOf(list) !== Array.prototype) return false
    const bytes = this.#bytes
    bytes[this.#at++] = OPEN_LIST
    for (let index = 0; index < list.length; index++) {
      if (index > 0) bytes[this.#at++] = COMMA
      if (!this.#value(list[index], depth + 1)) return false
    }
    bytes[this.#at++] = CLOSE_LIST
    return true
  }

  #text(text: string): boolean {
    const { length } = text
    const bytes = this.#bytes
    let at = this.#at
    if (at + length + ROOM > bytes.length) return false
    bytes[at++] = QUOTE
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index)
      if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) return this.#anyText(text)
      bytes[at++] = code
    }
    bytes[at++] = QUOTE
    this.#at = at
    return true
  }

  /** A text with something in it that JSON escapes, or that takes more than one byte. */
  #anyText(text: string): boolean {
    const json = JSON.stringify(text)
    // UTF-8 takes at most three bytes for a code unit.
    if (this.#at + json.length * 3 + ROOM > this.#bytes.length) return false
    this.#at += this.#bytes.write(json, this.#at)
    return true
  }

  #number(number: number): boolean {
    if ((number | 0) !== number || number < 0)
      return this.#letters(Number.isFinite(number) ? String(number) : 'null')
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

  #letters(letters: string): boolean {
    for (let index = 0; index < letters.length; index++) this.#bytes[this.#at++] = letters.charCodeAt(index)
    return true
  }
}
