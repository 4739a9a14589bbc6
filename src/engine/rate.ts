/** Lets at most so many through per second, with up to a second's worth at once. */
export class Rate {
  readonly perSecond: number
  #left: number
  #at: number

  constructor(perSecond: number, nowMs: number) {
    this.perSecond = perSecond
    this.#left = Math.max(1, perSecond)
    this.#at = nowMs
  }

  /** How many may pass now, by the monotonic clock. */
  available(nowMs: number): number {
    const most = Math.max(1, this.perSecond)
    this.#left = Math.min(most, this.#left + ((nowMs - this.#at) / 1000) * this.perSecond)
    this.#at = nowMs
    return Math.floor(this.#left)
  }

  take(count: number): void {
    this.#left -= count
  }

  /** How long until the next may pass. */
  msUntilNext(): number {
    return Math.max(1, Math.ceil(((1 - this.#left) / this.perSecond) * 1000))
  }
}
