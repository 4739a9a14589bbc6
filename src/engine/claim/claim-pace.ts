import type { EngineSettings } from '../settings.js'

/**
 * How many rows one call claims. A claim counts from before the call, so a batch whose answer takes longer than the
 * lease cannot be started, and is claimed again. That would keep a slow or busy store busy forever. So a slow answer
 * halves the next batch, and fast ones let it grow back.
 */
export class ClaimPace {
  readonly #settings: EngineSettings
  #most: number

  constructor(settings: EngineSettings) {
    this.#settings = settings
    this.#most = settings.claimRows
  }

  get most(): number {
    return this.#most
  }

  /** A claim of `count` rows was answered after `tookMs`. */
  answered(count: number, tookMs: number): void {
    const { leaseMs, leaseMarginMs, claimRows } = this.#settings
    const usableMs = leaseMs - leaseMarginMs
    if (tookMs > usableMs / 2) this.#most = Math.max(1, Math.min(this.#most, count) >> 1)
    else if (tookMs < usableMs / 4) this.#most = Math.min(claimRows, this.#most * 2)
  }
}
