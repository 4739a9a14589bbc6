/**
 * A small seeded source of random numbers (sfc32), so that a run can be repeated. Each `stream` of a seed is a
 * sequence of its own: drawing more from one leaves the others as they were.
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

  /** From 0 up to, not including, 1. */
  readonly fraction = (): number => {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (this.#c << 21) | (this.#c >>> 11)
    this.#c = (this.#c + t) | 0
    return (t >>> 0) / 2 ** 32
  }

  /** A number from `low` up to, not including, `high`. */
  between(low: number, high: number): number {
    return low + this.fraction() * (high - low)
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  /** A whole number from `low` to `high` whose order of magnitude is even, not its value. */
  scaled(low: number, high: number): number {
    return Math.round(low * (high / low) ** this.fraction())
  }

  /** A whole number from 0 up to, not including, `limit`. */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)]!
  }

  /** Undefined of an empty list. */
  one<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)]
  }

  /** One of the names, each as often as its weight says. */
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

/** A source that depends on these numbers only, whatever was drawn before. */
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
