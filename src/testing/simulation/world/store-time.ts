import type { VirtualClock } from '../../../time/index.js'
import type { Measured } from '../check/firing-check.js'

// Two clocks, each wrong by at most a thousandth, drift apart by less than this.
const DRIFT = 3e-3

/** The store's clock and how it was set. Checks use it to decide what is early and whether a lease is over. */
export class StoreTime {
  readonly clock: VirtualClock
  readonly #world: VirtualClock
  readonly #steps: { readonly at: number; readonly byMs: number }[] = []

  constructor(world: VirtualClock) {
    this.#world = world
    this.clock = world.fork()
  }

  /** True milliseconds. */
  get #at(): number {
    return this.#world.monotonic()
  }

  jump(byMs: number): void {
    this.#steps.push({ at: this.#at, byMs })
    this.clock.jump(byMs)
  }

  /** Whether the clock was set forward since `at`. If so, older leases may have ended without their owners knowing. */
  isAheadSince(at: number): boolean {
    return this.#steps.some((step) => step.byMs > 0 && step.at >= at)
  }

  /** Whether the clock was ever set back. If so, its owners may have started what became due only later. */
  get wasSetBack(): boolean {
    return this.#steps.some((step) => step.byMs < 0)
  }

  /**
   * How far ahead of the store's clock an instance may be after these measures. It cannot notice that the clock was set
   * back since the last measure. Between measures it cannot notice a step back that is shorter than two of its calls.
   */
  errorOf(measures: readonly Measured[]): number {
    const [first] = measures
    const last = measures.at(-1)
    if (first === undefined || last === undefined) return 0
    const unnoticedMs = 2 * Math.max(...measures.map(({ tookMs }) => tookMs))
    return Math.ceil(
      1 +
        (this.#at - last.at) * DRIFT +
        this.#setBackMs(last.at, Infinity) +
        Math.min(unnoticedMs, this.#setBackMs(first.at, last.at)),
    )
  }

  #setBackMs(from: number, before: number): number {
    let sum = 0
    for (const { at, byMs } of this.#steps) if (byMs < 0 && at >= from && at < before) sum -= byMs
    return sum
  }
}
