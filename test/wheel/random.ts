import { Random as TestRandom } from '../../src/testing/random.js'

/** Random numbers that reach as far as ticks do. */
export class Random extends TestRandom {
  /** A whole number from 0 up to, not including, `n`, which may be beyond 2^32. */
  override below(n: number): number {
    return Math.floor((this.fraction() + this.fraction() / 2 ** 32) * n)
  }

  override pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!
  }
}
