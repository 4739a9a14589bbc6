import type { TimerName } from '../../timer/index.js'

/**
 * Hashes a timer's name to 64 bits, in two halves. A string and the bytes that a chunk has of it give the same hash.
 * It is fast rather than strong. Each process has its own seed, because the hash is never stored. Its users compare
 * the name as well.
 */
export class NameHash {
  low = 0
  high = 0
  /** Whether the last key was ASCII. */
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
      low = mixLow(low, word)
      high = mixHigh(high, word)
    }
    let rest = length
    for (let shift = 8; i < length; shift += 8) {
      const character = key.charCodeAt(i++)
      all |= character
      rest |= character << shift
    }
    if (all < 0x80) {
      this.isAscii = true
      this.#finish(mixLow(low, rest), mixHigh(high, rest))
    } else this.#setWide(key)
  }

  /** The same, for an ASCII key given as bytes. */
  setBytes(namespace: string, kind: string, bytes: Uint8Array, from: number, length: number): void {
    if (namespace !== this.#namespace || kind !== this.#kind) this.#setScope(namespace, kind)
    let low = this.#scopeLow
    let high = this.#scopeHigh
    let i = from
    for (const end = from + (length & ~3); i < end; i += 4) {
      const word = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
      low = mixLow(low, word)
      high = mixHigh(high, word)
    }
    let rest = length
    for (let shift = 8; i < from + length; shift += 8) rest |= bytes[i++]! << shift
    this.isAscii = true
    this.#finish(mixLow(low, rest), mixHigh(high, rest))
  }

  #setWide(key: string): void {
    let low = this.#scopeLow
    let high = this.#scopeHigh
    for (let i = 0; i < key.length; i += 2) {
      // Past the end charCodeAt returns NaN, which `<<` takes for 0.
      const word = key.charCodeAt(i) | (key.charCodeAt(i + 1) << 16)
      low = mixLow(low, word)
      high = mixHigh(high, word)
    }
    this.isAscii = false
    this.#finish(mixLow(low, ~key.length), mixHigh(high, ~key.length))
  }

  #setScope(namespace: string, kind: string): void {
    this.#namespace = namespace
    this.#kind = kind
    let low = this.#seed
    let high = ~this.#seed
    for (const text of [namespace, kind]) {
      for (let i = 0; i < text.length; i++) {
        low = mixLow(low, text.charCodeAt(i))
        high = mixHigh(high, text.charCodeAt(i))
      }
      low = mixLow(low, ~text.length)
      high = mixHigh(high, ~text.length)
    }
    this.#scopeLow = low
    this.#scopeHigh = high
  }

  #finish(low: number, high: number): void {
    this.low = finalize(low ^ (high >>> 7))
    this.high = finalize(high + Math.imul(low, 5))
  }
}

function mixLow(hash: number, word: number): number {
  const bits = Math.imul(word, 0xcc9e_2d51)
  const mixed = hash ^ Math.imul((bits << 15) | (bits >>> 17), 0x1b87_3593)
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0x64) | 0
}

function mixHigh(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e37_79b1)
  return mixed ^ (mixed >>> 15)
}

function finalize(bits: number): number {
  let hash = bits ^ (bits >>> 16)
  hash = Math.imul(hash, 0x21f0_aaad)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x735a_2d97)
  return hash ^ (hash >>> 15)
}
