import type { EngineSettings } from '../settings.js'

/**
 * How many rows one claim asks for. A lease runs from before the claim was sent, so a batch whose answer takes
 * longer than that cannot be started, comes back and is claimed again: a store that is slow or busy would be kept
 * busy by it for ever. So a slow answer halves the next claim, and quick ones let it grow back.
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

  /** A claim that found so many rows was answered after this long. */
  answered(count: number, tookMs: number): void {
    const { leaseMs, leaseMarginMs, claimRows } = this.#settings
    const usableMs = leaseMs - leaseMarginMs
    if (tookMs > usableMs / 2) this.#most = Math.max(1, Math.min(this.#most, count) >> 1)
    else if (tookMs < usableMs / 4) this.#most = Math.min(claimRows, this.#most * 2)
  }
}
