import type { Garbage } from './garbage.js'

/**
 * Readings of the clock one after another in memory taken beforehand, so that timing every tick of a run
 * costs a reading and a store. What lies between two readings is a lap.
 */
export class Laps {
  readonly #readings: Float64Array
  #count = 0

  constructor(most: number) {
    this.#readings = new Float64Array(most + 1)
  }

  /** The first call starts the first lap, each further one ends a lap and starts the next. */
  mark(): void {
    this.#readings[this.#count++] = performance.now()
  }

  totalMs(): number {
    return this.#count < 2 ? 0 : this.#readings[this.#count - 1]! - this.#readings[0]!
  }

  averageMs(): number {
    return this.totalMs() / (this.#count - 1)
  }

  /** With `without`, what garbage collection took of a lap is taken off it. */
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
