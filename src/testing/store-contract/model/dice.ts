/** Random choices that a seed repeats: mulberry32. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  below(limit: number): number {
    return Math.floor(this.fraction() * limit)
  }

  chance(share: number): boolean {
    return this.fraction() < share
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
