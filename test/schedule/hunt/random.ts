/** Pseudo-random numbers, the same for the same seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to, not including, 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  /** An integer, both ends included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1))
  }

  oneOf<T>(values: readonly T[]): T {
    return values[Math.floor(this.fraction() * values.length)]!
  }

  /** Some of the values, at least one, in their order. */
  someOf<T>(values: readonly T[], most: number): T[] {
    const wanted = Math.min(this.between(1, most), values.length)
    const places = new Set<number>()
    while (places.size < wanted) places.add(this.between(0, values.length - 1))
    return [...places].sort((a, b) => a - b).map((place) => values[place]!)
  }
}
