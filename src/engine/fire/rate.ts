/** How many seconds' worth of starts may be saved up. */
const BURST_SECONDS = 0.1

/**
 * Limits starts to `perSecond`. Up to a tenth of a second's worth, but at least one, may start at once. So the starts
 * within any one second are at most `perSecond` plus that burst.
 */
export class Rate {
  readonly perSecond: number
  readonly #burst: number
  #left: number
  #at: number

  constructor(perSecond: number, nowMs: number) {
    this.perSecond = perSecond
    this.#burst = Math.max(1, perSecond * BURST_SECONDS)
    this.#left = this.#burst
    this.#at = nowMs
  }

  /** How many may pass now, by the monotonic clock. */
  available(nowMs: number): number {
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#at) / 1000) * this.perSecond)
    this.#at = nowMs
    return Math.floor(this.#left)
  }

  consume(count: number): void {
    this.#left -= count
  }

  /** How long until the next may pass. */
  msUntilNext(): number {
    return Math.max(1, Math.ceil(((1 - this.#left) / this.perSecond) * 1000))
  }
}
