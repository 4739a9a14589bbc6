/** A small seeded source of random numbers (sfc32), so that a failing run can be repeated. */
export class Random {
  #a: number
  #b = 0x9e37_79b9
  #c = 0x243f_6a88
  #d = 1

  constructor(seed: number) {
    this.#a = seed | 0
    for (let i = 0; i < 15; i++) this.fraction()
  }

  /** From 0 up to, not including, 1. */
  fraction(): number {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (this.#c << 21) | (this.#c >>> 11)
    this.#c = (this.#c + t) | 0
    return (t >>> 0) / 2 ** 32
  }

  /** A whole number from 0 up to, not including, `n`. */
  below(n: number): number {
    return Math.floor((this.fraction() + this.fraction() / 2 ** 32) * n)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }
}
