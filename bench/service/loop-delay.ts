import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 1

/** How late the event loop of this process is, measured every millisecond from now on. */
export class LoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor() {
    this.#histogram.enable()
  }

  /** The 99.9th percentile in milliseconds, without the measuring interval. */
  end(): number {
    this.#histogram.disable()
    return Math.max(0, this.#histogram.percentile(99.9) / 1e6 - RESOLUTION_MS)
  }
}
