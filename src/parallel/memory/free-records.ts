import { LimitError } from '../../error/index.js'
import { owners, poolWords, type PoolMemory, strideOf } from './pool-memory.js'
import { recordLayout, type TimerRecords } from './timer-records.js'

// The most free records that a thread keeps for itself. Small pools with many workers need them elsewhere.
const MOST = 1024
const PART_OF_A_WORKER = 8
// The part of them that moves to or from the shared list at once.
const CHUNKS = 4
const { LINK, PAYLOAD } = recordLayout
const { RECORDS, FREE } = poolWords

/**
 * The free records of one thread. It takes and gives them in batches from a list that all threads share, so that records
 * come back to threads that need them. The list's head has a tag that rises with each change: without it, a thread could
 * replace a head that was taken and put back meanwhile. Records are used in the order in which they became free, so that
 * it takes long until one is used again.
 *
 * A thread that dies between taking a batch and marking it as its own leaves these records, 256 at most, unused for ever.
 */
export class FreeRecords {
  readonly #records: TimerRecords
  readonly #owner: number
  readonly #maxTimers: number
  readonly #stride: number
  readonly #words: Int32Array
  readonly #control: Int32Array
  readonly #head: BigInt64Array
  readonly #chunk: number
  // A ring of record numbers.
  readonly #ring: Int32Array
  #first = 0
  #count = 0

  constructor(memory: PoolMemory, records: TimerRecords, owner: number) {
    this.#records = records
    this.#owner = owner
    this.#maxTimers = memory.maxTimers
    this.#stride = strideOf(memory)
    this.#words = new Int32Array(memory.records)
    this.#control = new Int32Array(memory.control)
    this.#head = new BigInt64Array(memory.control, FREE * 4, 1)
    const part = Math.floor(memory.maxTimers / (PART_OF_A_WORKER * memory.workers))
    this.#chunk = Math.max(1, Math.floor(Math.min(MOST, part) / CHUNKS))
    this.#ring = new Int32Array(this.#chunk * CHUNKS)
  }

  /** Whether `take` finds a record. */
  get hasAny(): boolean {
    return this.#count > 0 || this.#fetch() || this.#extend()
  }

  take(): number {
    if (this.#count === 0 && !this.hasAny) {
      throw new LimitError('pool-full', `the pool has ${this.#maxTimers} timers, which is its limit`)
    }
    const index = this.#ring[this.#first]!
    if (++this.#first === this.#ring.length) this.#first = 0
    this.#count--
    return index
  }

  /** Takes back a record that belongs to this thread. */
  give(index: number): void {
    if (this.#count === this.#ring.length) this.#share()
    const at = this.#first + this.#count
    this.#ring[at < this.#ring.length ? at : at - this.#ring.length] = index
    this.#count++
  }

  /** Gives all records back, for other threads. */
  giveAll(): void {
    while (this.#count > 0) this.#share()
  }

  /** Moves a batch to the shared list. */
  #share(): void {
    const size = Math.min(this.#chunk, this.#count)
    let next = 0
    for (let i = 0; i < size; i++) {
      const index = this.take()
      this.#records.assign(index, owners.NOBODY)
      this.#words[index * this.#stride + LINK] = next
      next = index + 1
    }
    for (;;) {
      const head = Atomics.load(this.#head, 0)
      this.#words[(next - 1) * this.#stride + PAYLOAD] = Number(head & 0xffff_ffffn)
      if (this.#replaceHead(head, next)) return
    }
  }

  /** Takes a batch from the shared list. */
  #fetch(): boolean {
    for (;;) {
      const head = Atomics.load(this.#head, 0)
      let next = Number(head & 0xffff_ffffn)
      if (next === 0) return false
      if (!this.#replaceHead(head, this.#words[(next - 1) * this.#stride + PAYLOAD]!)) continue
      while (next !== 0) {
        const index = next - 1
        next = this.#words[index * this.#stride + LINK]!
        this.#own(index)
      }
      return true
    }
  }

  #replaceHead(seen: bigint, first: number): boolean {
    const tag = BigInt.asIntN(32, (seen >> 32n) + 1n)
    return Atomics.compareExchange(this.#head, 0, seen, (tag << 32n) | BigInt(first)) === seen
  }

  /** Takes records that nobody has used yet. */
  #extend(): boolean {
    if (Atomics.load(this.#control, RECORDS) >= this.#maxTimers) return false
    const from = Atomics.add(this.#control, RECORDS, this.#chunk)
    const until = Math.min(from + this.#chunk, this.#maxTimers)
    for (let index = from; index < until; index++) this.#own(index)
    return from < until
  }

  #own(index: number): void {
    this.#records.assign(index, this.#owner)
    this.give(index)
  }
}
