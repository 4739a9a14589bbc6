// An entry holds this many 8-bit characters. The rest of a longer key, and its length, is stored elsewhere.
const SHORT_CHARACTERS = 24
const MAX_CHARACTERS = 36
const LONG_WORDS = MAX_CHARACTERS / 4 + 1
// Kinds. The kind of a string of up to 24 characters is its length.
const LONG = 25
const NUMBER = 26
const UNPACKED = 27

// The words of a string are read back as bytes, in the machine's byte order. On a big-endian machine nothing is packed.
const isLittleEndian = new Uint8Array(new Int32Array([1]).buffer)[0] === 1

const number = new Float64Array(1)
const numberWords = new Int32Array(number.buffer)

/**
 * A key as a kind, words that can be stored and compared in a typed array, and a 32-bit hash. Numbers and strings of up
 * to 36 8-bit characters are packed completely: kinds and words are equal exactly when the keys are. Other strings have
 * a hash only. The hash is fast rather than strong: its users must stay correct and fast when many keys share one.
 * Proven by test/wheel/key-table.test.ts.
 */
export class PackedKey {
  /** The kind of strings of 25 to 36 characters. The kind of a shorter one is its length. */
  static readonly LONG = LONG
  static readonly NUMBER = NUMBER
  /** The kind of strings that are not packed. */
  static readonly UNPACKED = UNPACKED
  /** The number of words of a LONG key. No other kind has as many. The last word is the length of the string. */
  static readonly LONG_WORDS = LONG_WORDS

  readonly words = new Int32Array(LONG_WORDS)
  kind = 0
  /** How many words are in use. */
  length = 0
  hash = 0

  /** The number that is packed in these two words. */
  static numberOf(first: number, second: number): number {
    numberWords[0] = first
    numberWords[1] = second
    return number[0]!
  }

  set(key: string | number): void {
    if (typeof key === 'number') this.#setNumber(key)
    else if (key.length > MAX_CHARACTERS || !isLittleEndian || !this.#setCharacters(key))
      this.#setUnpacked(key)
  }

  #setNumber(key: number): void {
    // 0 and -0 are the same key.
    number[0] = key === 0 ? 0 : key
    const { words } = this
    words[0] = numberWords[0]!
    words[1] = numberWords[1]!
    this.kind = NUMBER
    this.length = 2
    this.hash = finished(stirred(stirred(-1, words[0]), words[1]))
  }

  #setCharacters(key: string): boolean {
    const { words } = this
    const { length } = key
    const fours = length & ~3
    let hash = length
    let all = 0
    let at = 0
    let i = 0
    for (; i < fours; i += 4) {
      const a = key.charCodeAt(i)
      const b = key.charCodeAt(i + 1)
      const c = key.charCodeAt(i + 2)
      const d = key.charCodeAt(i + 3)
      all |= a | b | c | d
      const word = a | (b << 8) | (c << 16) | (d << 24)
      words[at++] = word
      hash = stirred(hash, word)
    }
    if (i < length) {
      let word = 0
      for (let shift = 0; i < length; shift += 8) {
        const character = key.charCodeAt(i++)
        all |= character
        word |= character << shift
      }
      words[at++] = word
      hash = stirred(hash, word)
    }
    this.kind = length
    this.length = at
    this.hash = finished(hash)
    if (length > SHORT_CHARACTERS) this.#setLong(length)
    return all < 0x100
  }

  #setLong(characters: number): void {
    this.words.fill(0, this.length)
    this.words[LONG_WORDS - 1] = characters
    this.kind = LONG
    this.length = LONG_WORDS
  }

  #setUnpacked(key: string): void {
    let hash = key.length
    for (let i = 0; i < key.length; i += 2) {
      // Beyond the end charCodeAt returns NaN, which counts as 0 here.
      hash = stirred(hash, key.charCodeAt(i) | (key.charCodeAt(i + 1) << 16))
    }
    this.hash = finished(hash)
    this.kind = UNPACKED
    this.length = 0
  }
}

function stirred(hash: number, word: number): number {
  const bits = Math.imul(word, 0xcc9e_2d51)
  const mixed = hash ^ Math.imul((bits << 15) | (bits >>> 17), 0x1b87_3593)
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0x64) | 0
}

function finished(bits: number): number {
  let hash = bits ^ (bits >>> 16)
  hash = Math.imul(hash, 0x21f0_aaad)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x735a_2d97)
  return hash ^ (hash >>> 15)
}
