import type { Garbage } from './garbage.js'

/**
 * Clock readings in preallocated memory, so that timing a tick costs only a reading and a store. The time between two
 * readings is a lap.
 */
export class Laps {
  readonly #readings: Float64Array
  #count = 0

  constructor(most: number) {
    this.#readings = new Float64Array(most + 1)
  }

  /** The first call starts the first lap. Each further call ends a lap and starts the next. */
  mark(): void {
    this.#readings[this.#count++] = performance.now()
  }

  totalMs(): number {
    return this.#count < 2 ? 0 : this.#readings[this.#count - 1]! - this.#readings[0]!
  }

  averageMs(): number {
    return this.totalMs() / (this.#count - 1)
  }

  /** With `without`, garbage collection is subtracted from each lap. */
  worstMs(without?: Garbage): number {
    let worst = 0
    for (let i = 1; i < this.#count; i++) {
      const from = this.#readings[i - 1]!
      const until = this.#readings[i]!
      if (until - from <= worst) continue
      worst = Math.max(worst, until - from - (without?.overlapMs(from, until) ?? 0))
    }
    return worst
  }
}
