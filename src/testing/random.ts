/**
 * A small seeded generator of random numbers (sfc32), so that a run can be repeated. Each `stream` of a seed is a
 * separate sequence: drawing more from one does not change the others.
 */
export class Random {
  #a: number
  #b: number
  #c = 0x243f_6a88
  #d = 1

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0
    this.#b = 0x9e37_79b9 ^ Math.imul(stream, 0x85eb_ca6b)
    for (let i = 0; i < 15; i++) this.fraction()
  }

  /** A number from 0 to 1, without 1. */
  readonly fraction = (): number => {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (this.#c << 21) | (this.#c >>> 11)
    this.#c = (this.#c + t) | 0
    return (t >>> 0) / 2 ** 32
  }

  /** A number from `low` to `high`, without `high`. */
  between(low: number, high: number): number {
    return low + this.fraction() * (high - low)
  }

  /** An integer from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  /** An integer from `low` to `high`, uniform on a logarithmic scale. */
  scaled(low: number, high: number): number {
    return Math.round(low * (high / low) ** this.fraction())
  }

  /** An integer from 0 to `limit`, without `limit`. */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)]!
  }

  /** One of the items; undefined for an empty array. */
  one<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)]
  }

  /** One of the names, with a probability in proportion to its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let at = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0))
    for (const [name, weight] of entries) {
      if (at < weight) return name
      at -= weight
    }
    return entries[0]![0]
  }
}

/** A generator that depends only on these numbers. */
export function randomOf(...numbers: readonly number[]): Random {
  let hash = 0x811c_9dc5
  for (const number of numbers) {
    hash = Math.imul(hash ^ (number | 0), 0x0100_0193)
    hash ^= hash >>> 15
    hash = Math.imul(hash, 0x2c1b_3c6d)
    hash ^= hash >>> 13
  }
  return new Random(hash)
}
