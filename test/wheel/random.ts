import { Random as TestRandom } from '../../src/testing/random.js'

/** Random numbers with the range of ticks. */
export class Random extends TestRandom {
  /** An integer from 0 to below `n`, which may be beyond 2^32. */
  override below(n: number): number {
    return Math.floor((this.fraction() + this.fraction() / 2 ** 32) * n)
  }

  override pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!
  }
}
