import type { TimerName } from '../../timer/index.js'

/**
 * 64 bits of a timer's name, in two halves, from its text or from the bytes a chunk keeps of it: both give the
 * same. Quick rather than strong, and seeded anew in every process, because it is never stored: whoever uses
 * it compares the name itself.
 */
export class NameHash {
  low = 0
  high = 0
  /** Whether the key last hashed has only characters of 7 bits. */
  isAscii = true

  readonly #seed: number
  #namespace = ''
  #kind = ''
  #scopeLow = 0
  #scopeHigh = 0

  constructor(seed: number) {
    this.#seed = seed | 0
    this.#setScope('', '')
  }

  set(name: TimerName): void {
    if (name.namespace !== this.#namespace || name.kind !== this.#kind)
      this.#setScope(name.namespace, name.kind)
    const { key } = name
    const { length } = key
    const fours = length & ~3
    let low = this.#scopeLow
    let high = this.#scopeHigh
    let all = 0
    let i = 0
    for (; i < fours; i += 4) {
      const a = key.charCodeAt(i)
      const b = key.charCodeAt(i + 1)
      const c = key.charCodeAt(i + 2)
      const d = key.charCodeAt(i + 3)
      all |= a | b | c | d
      const word = a | (b << 8) | (c << 16) | (d << 24)
      low = stirredLow(low, word)
      high = stirredHigh(high, word)
    }
    let rest = length
    for (let shift = 8; i < length; shift += 8) {
      const character = key.charCodeAt(i++)
      all |= character
      rest |= character << shift
    }
    if (all < 0x80) {
      this.isAscii = true
      this.#finish(stirredLow(low, rest), stirredHigh(high, rest))
    } else this.#setWide(key)
  }

  /** The same, for a key whose characters have 7 bits and stand in `bytes`. */
  setBytes(namespace: string, kind: string, bytes: Uint8Array, from: number, length: number): void {
    if (namespace !== this.#namespace || kind !== this.#kind) this.#setScope(namespace, kind)
    let low = this.#scopeLow
    let high = this.#scopeHigh
    let i = from
    for (const end = from + (length & ~3); i < end; i += 4) {
      const word = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
      low = stirredLow(low, word)
      high = stirredHigh(high, word)
    }
    let rest = length
    for (let shift = 8; i < from + length; shift += 8) rest |= bytes[i++]! << shift
    this.isAscii = true
    this.#finish(stirredLow(low, rest), stirredHigh(high, rest))
  }

  #setWide(key: string): void {
    let low = this.#scopeLow
    let high = this.#scopeHigh
    for (let i = 0; i < key.length; i += 2) {
      // Behind the end there is NaN, which counts as 0 here.
      const word = key.charCodeAt(i) | (key.charCodeAt(i + 1) << 16)
      low = stirredLow(low, word)
      high = stirredHigh(high, word)
    }
    this.isAscii = false
    this.#finish(stirredLow(low, ~key.length), stirredHigh(high, ~key.length))
  }

  #setScope(namespace: string, kind: string): void {
    this.#namespace = namespace
    this.#kind = kind
    let low = this.#seed
    let high = ~this.#seed
    for (const text of [namespace, kind]) {
      for (let i = 0; i < text.length; i++) {
        low = stirredLow(low, text.charCodeAt(i))
        high = stirredHigh(high, text.charCodeAt(i))
      }
      low = stirredLow(low, ~text.length)
      high = stirredHigh(high, ~text.length)
    }
    this.#scopeLow = low
    this.#scopeHigh = high
  }

  #finish(low: number, high: number): void {
    this.low = finished(low ^ (high >>> 7))
    this.high = finished(high + Math.imul(low, 5))
  }
}

function stirredLow(hash: number, word: number): number {
  const bits = Math.imul(word, 0xcc9e_2d51)
  const mixed = hash ^ Math.imul((bits << 15) | (bits >>> 17), 0x1b87_3593)
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0x64) | 0
}

function stirredHigh(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}

function finished(bits: number): number {
  let hash = bits ^ (bits >>> 16)
  hash = Math.imul(hash, 0x21f0_aaad)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x735a_2d97)
  return hash ^ (hash >>> 15)
}
