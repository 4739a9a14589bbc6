/**
 * xorshift32: small enough to be repeated in Go and C, so that every candidate gets the same numbers. Fractions have 32 bits
 * and products are rounded once, which is the same in every language with IEEE doubles.
 */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** 32 random bits. */
  bits(): number {
    let s = this.#state
    s ^= s << 13
    s ^= s >>> 17
    s ^= s << 5
    this.#state = s
    return s >>> 0
  }

  /** From 0 to below 1. */
  fraction(): number {
    return this.bits() / 4_294_967_296
  }

  /** An integer from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor((this.bits() / 4_294_967_296) * limit)
  }

  /** 0 to n - 1, shuffled. */
  order(n: number): Int32Array {
    const order = new Int32Array(n)
    for (let i = 0; i < n; i++) order[i] = i
    for (let i = n - 1; i > 0; i--) {
      const j = this.below(i + 1)
      const kept = order[i]!
      order[i] = order[j]!
      order[j] = kept
    }
    return order
  }
}
