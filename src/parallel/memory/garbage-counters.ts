import { stripeAt, STRIPES, wakeWorker } from './pool-memory.js'

const WAKE_EVERY = 1024

/**
 * Counts the entries in each worker's wheel that other threads have made stale. Each thread counts in a stripe of its
 * own, a cache line apart from the others, so that threads that cancel at once do not wait for each other.
 */
export class GarbageCounters {
  readonly #words: Int32Array
  readonly #stripe: number

  constructor(control: SharedArrayBuffer, thread: number) {
    this.#words = new Int32Array(control)
    this.#stripe = thread % STRIPES
  }

  /** Counts one more. Now and then it wakes the worker: an idle one would not look for cancelled timers. */
  add(owner: number): void {
    const count = Atomics.add(this.#words, stripeAt(owner, this.#stripe), 1) + 1
    if (count % WAKE_EVERY === 0) wakeWorker(this.#words, owner)
  }

  /** How many were counted for an owner so far. It wraps around at 2^32. */
  total(owner: number): number {
    return garbageOf(this.#words, owner)
  }
}

/** The sum of an owner's stripes. */
export function garbageOf(words: Int32Array, owner: number): number {
  let sum = 0
  for (let stripe = 0; stripe < STRIPES; stripe++) sum += Atomics.load(words, stripeAt(owner, stripe))
  return sum | 0
}
