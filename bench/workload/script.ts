import { Random } from '../harness/random.js'

/** Delays are uniform from 1 to this many 1 ms ticks. */
export const HORIZON_TICKS = 60_000

/**
 * The random sequence of the workload, the same for every candidate: due ticks, which timers are moved and to which tick,
 * and the order in which handles are cancelled. `bench/go/script` and `bench/c/wheel.c` repeat it.
 */
export class Script {
  readonly n: number
  readonly dueTicks: Int32Array
  /** The first fifth of `order` is moved to these ticks. */
  readonly movedTo: Int32Array
  readonly order: Int32Array
  /** The generator, for random numbers that a bench needs afterwards. */
  readonly random: Random

  constructor(n: number, seed: number) {
    const random = new Random(seed)
    this.n = n
    this.random = random
    this.dueTicks = new Int32Array(n)
    for (let i = 0; i < n; i++) this.dueTicks[i] = 1 + random.below(HORIZON_TICKS)
    this.movedTo = new Int32Array(Math.floor(n / 5))
    for (let i = 0; i < this.movedTo.length; i++) this.movedTo[i] = 1 + random.below(HORIZON_TICKS)
    this.order = random.order(n)
  }
}
