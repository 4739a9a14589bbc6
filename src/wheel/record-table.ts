import { InvalidInputError, LimitError, shown } from '../error/index.js'
import { GrowingMemory } from './growing-memory.js'
import { recordLayout } from './record-layout.js'

/**
 * Names a timer in a wheel: its index and the generation of that index, packed into one number. It is never 0, and
 * never names another timer, even when the index is reused.
 */
export type Handle = number

const { MAX_TIMERS, INDEX, STATE_SPAN, STATE, GENERATION, ONE_GENERATION, OWN, ARMED, WIDE_TOKEN } =
  recordLayout
const PER_STATE = 1 / STATE_SPAN
// A record belongs to a handle if these bits, with ARMED inverted, equal the handle's generation.
const LIFE = ARMED | GENERATION
const FIRST_CAPACITY = 1024 + 32
const RECORD_BYTES = 8

/**
 * The timers of a wheel as fixed-size records in one typed array: no object and no allocation per timer. A free index
 * is found by scanning a bitmap upward, so that timers set one after another are neighbours in memory. An index whose
 * generations are used up is retired, so a handle never names another timer.
 * Proven by test/wheel/record-table.test.ts and test/wheel/wheel.test.ts.
 */
export class RecordTable {
  words: Int32Array = new Int32Array(0)
  /** The token of each record that is not OWN, or WIDE_TOKEN. */
  tokens: Int32Array = new Int32Array(0)
  /** How many records are armed. */
  size = 0
  capacity = 0
  /** Exact due ticks of WIDE records. Not allocated before the first one. */
  wideDues: Float64Array = new Float64Array(0)
  /** The free indices of the current bitmap word, as bits. The bitmap itself no longer has them. */
  freeBits = 0

  readonly #memory = new GrowingMemory(MAX_TIMERS * RECORD_BYTES)
  readonly #tokenMemory = new GrowingMemory(MAX_TIMERS * 4)
  readonly #freeMemory = new GrowingMemory(MAX_TIMERS / 8)
  #wideDueMemory: GrowingMemory | undefined
  #wideTokenMemory: GrowingMemory | undefined
  #bitmap: Int32Array = new Int32Array(0)
  #freeWord = -1
  // Tokens of more than 31 bits. Not allocated before the first one.
  #wideTokens: Float64Array = new Float64Array(0)

  constructor() {
    this.#growTo(FIRST_CAPACITY)
  }

  /** Makes room for `timers` in all. */
  reserve(timers: number): void {
    // Plus the share that `#sweep` keeps free.
    const wanted = Math.min(timers + timers / 8, MAX_TIMERS)
    this.#memory.reserve(wanted * RECORD_BYTES)
    this.#tokenMemory.reserve(wanted * 4)
    this.#growTo(wanted)
  }

  get bytes(): number {
    return [this.words, this.tokens, this.#bitmap, this.wideDues, this.#wideTokens].reduce(
      (sum, array) => sum + array.byteLength,
      0,
    )
  }

  /** Takes a free index. Call it only if `freeBits` is not 0. */
  take(): number {
    const bits = this.freeBits
    const lowest = bits & -bits
    this.freeBits = bits ^ lowest
    return (this.#freeWord << 5) | (31 - Math.clz32(lowest))
  }

  /**
   * Arms a record that was taken, and returns its generation as stored in its state. If the timer is overdue or far,
   * its list overwrites the due word.
   */
  arm(index: number, token: number, due: number): number {
    const words = this.words
    const at = index << 1
    const generation = (words[at | STATE]! & GENERATION) + ONE_GENERATION
    words[at] = due
    words[at | STATE] = generation | ARMED
    // Also if the token equals the index: a branch that V8 has not seen taken costs more than the write.
    this.tokens[index] = token
    this.size++
    return generation
  }

  /** Takes and arms a record for any token, without a due word. Returns its index. */
  armUncommon(token: number): number {
    if (this.freeBits === 0) this.#sweep()
    const index = this.take()
    if ((token | 0) === token) {
      this.arm(index, token, 0)
      return index
    }
    if (this.#wideTokenMemory === undefined) {
      this.#wideTokenMemory = new GrowingMemory(MAX_TIMERS * 8)
      this.#wideTokens = new Float64Array(this.#wideTokenMemory.grow(this.capacity * 8))
    }
    this.arm(index, WIDE_TOKEN, 0)
    this.#wideTokens[index] = token
    return index
  }

  /** Disarms a record. Its index is free for another timer. */
  release(index: number): void {
    const { words } = this
    const at = (index << 1) | STATE
    const generation = words[at]! & GENERATION
    words[at] = generation
    this.size--
    if (generation !== GENERATION) this.#bitmap[index >>> 5]! |= 1 << (index & 31)
  }

  /** Disarms the record of a handle. False if its timer is gone. Throws if the value cannot be a handle. */
  cancel(handle: Handle): boolean {
    // `find` and `release` in one, for speed: the record is read once instead of twice.
    if (typeof handle !== 'number') return refuseHandle(handle)
    const index = handle & INDEX
    const meant = (handle - index) * PER_STATE
    const { words } = this
    const at = (index << 1) | STATE
    // Beyond the end the word is undefined, which counts as a record that is not armed.
    const generation = (words[at]! ^ ARMED) & LIFE
    if (generation === meant) {
      words[at] = generation
      this.size--
      if (generation !== GENERATION) this.#bitmap[index >>> 5]! |= 1 << (index & 31)
      return true
    }
    return !isGeneration(meant) && refuseHandle(handle)
  }

  handleOf(index: number): Handle {
    return (this.words[(index << 1) | STATE]! & GENERATION) * STATE_SPAN + index
  }

  /** The index of a handle, or -1 if its timer is gone. Throws if the value cannot be a handle. */
  find(handle: Handle): number {
    if (typeof handle === 'number') {
      const index = handle & INDEX
      const meant = (handle - index) * PER_STATE
      if (((this.words[(index << 1) | STATE]! ^ ARMED) & LIFE) === meant) return index
      if (isGeneration(meant)) return -1
    }
    return refuseHandle(handle)
  }

  isArmed(index: number): boolean {
    return index >= 0 && index < this.capacity && (this.words[(index << 1) | STATE]! & ARMED) !== 0
  }

  /** The handles of all armed records. */
  handles(): Float64Array {
    const handles = new Float64Array(this.size)
    let count = 0
    for (let index = 0; count < handles.length; index++) {
      if ((this.words[(index << 1) | STATE]! & ARMED) !== 0) handles[count++] = this.handleOf(index)
    }
    return handles
  }

  tokenOf(index: number): number {
    if ((this.words[(index << 1) | STATE]! & OWN) !== 0) return index
    const token = this.tokens[index]!
    return token === WIDE_TOKEN ? this.#wideTokens[index]! : token
  }

  /** Makes the token of a record its own index. */
  ownToken(index: number): void {
    this.words[(index << 1) | STATE]! |= OWN
  }

  /** Stores the exact due tick of a record that is far from the wheel's tick. */
  keepWideDue(index: number, dueTick: number): void {
    if (this.wideDues.length === 0) {
      this.#wideDueMemory = new GrowingMemory(MAX_TIMERS * 8)
      this.wideDues = new Float64Array(this.#wideDueMemory.grow(this.capacity * 8))
    }
    this.wideDues[index] = dueTick
  }

  #sweep(): void {
    if (this.#sweepOn()) return
    // The scan has reached the end. If less than a sixteenth of the table is free, another round is not worth it: grow
    // instead. That also keeps timers that are set one after another side by side.
    if (this.capacity - this.size <= this.capacity >>> 4 && this.#grow()) {
      this.#sweepOn()
      return
    }
    this.#freeWord = -1
    // The scan finds nothing only if retired indices fill the table.
    if (this.#sweepOn() || (this.#grow() && this.#sweepOn())) return
    throw new LimitError(
      'wheel-full',
      `a wheel holds at most ${MAX_TIMERS} timers, and this one has ${this.size}`,
    )
  }

  /** Takes the next bitmap word with a free bit, from the current one to the end. */
  #sweepOn(): boolean {
    const bitmap = this.#bitmap
    const end = this.capacity >>> 5
    for (let word = this.#freeWord + 1; word < end; word++) {
      const bits = bitmap[word]!
      if (bits === 0) continue
      bitmap[word] = 0
      this.#freeWord = word
      this.freeBits = bits
      return true
    }
    return false
  }

  #grow(): boolean {
    return this.#growTo(this.capacity + (this.capacity < 65_536 ? this.capacity : this.capacity >>> 4))
  }

  #growTo(timers: number): boolean {
    const before = this.capacity
    const wanted = Math.min(timers, MAX_TIMERS)
    if (wanted <= before) return false
    this.words = new Int32Array(this.#memory.grow(wanted * RECORD_BYTES))
    const capacity = Math.min(Math.floor(this.words.length / 64) * 32, MAX_TIMERS)
    this.tokens = new Int32Array(this.#tokenMemory.grow(capacity * 4))
    this.#bitmap = new Int32Array(this.#freeMemory.grow(capacity / 8))
    this.#bitmap.fill(-1, before >>> 5, capacity >>> 5)
    if (this.#wideDueMemory !== undefined)
      this.wideDues = new Float64Array(this.#wideDueMemory.grow(capacity * 8))
    if (this.#wideTokenMemory !== undefined) {
      this.#wideTokens = new Float64Array(this.#wideTokenMemory.grow(capacity * 8))
    }
    this.capacity = capacity
    return true
  }
}

/** Whether a handle with this generation could be that of a timer that is gone. */
function isGeneration(meant: number): boolean {
  const whole = meant | 0
  return whole === meant && whole >= 0
}

function refuseHandle(handle: unknown): never {
  throw new InvalidInputError(
    'invalid-handle',
    `${shown(handle)} is not a handle: pass the number that set returned`,
  )
}
