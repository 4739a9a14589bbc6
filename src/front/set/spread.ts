import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import {
  FORECAST_FRESH_MS,
  FORECAST_MAX_SAVED_MS,
  FORECAST_TIME_SHARE,
  MAX_SLICES_OF_WINDOW,
  MAX_WINDOWS_IN_MEMORY,
} from '../defaults.js'

/** The span in which an occurrence may fire. */
export interface FiringWindow {
  readonly instant: number
  readonly windowMs: number
}

/** How many timers are due in each slice of a firing window, as far as this instance knows. */
interface Load {
  readonly sliceMs: number
  readonly counts: Float64Array
  /** On the monotonic clock; -Infinity before the first read. */
  readAt: number
}

/**
 * Spreads timers over their firing windows, so that they do not all fire at midnight. It chooses the quietest slice, by
 * the store's forecast and by its own choices since then. The offset is chosen once, when the timer is set. Without a
 * forecast, the timer's identity decides. Proven by test/front/spread.test.ts.
 */
export class Spread {
  readonly #store: Store
  readonly #clock: Clock
  readonly #onStoreError: (call: string, error: unknown) => void
  // In the order of their last use, oldest first.
  readonly #loads = new Map<string, Load>()
  #savedMs = FORECAST_MAX_SAVED_MS
  #savedAt: number

  constructor(parts: { store: Store; clock: Clock; onStoreError: (call: string, error: unknown) => void }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#onStoreError = parts.onStoreError
    this.#savedAt = parts.clock.monotonic()
  }

  /** Reads the forecasts of these windows that are not fresh. */
  async prepare(windows: readonly FiringWindow[]): Promise<void> {
    const seen = new Set<string>()
    for (const window of windows) {
      const name = windowKeyOf(window)
      if (seen.has(name)) continue
      seen.add(name)
      const load = this.#loadOf(window)
      const isFresh = this.#clock.monotonic() - load.readAt < FORECAST_FRESH_MS
      if (!isFresh && this.#mayRead()) await this.#read(window, load)
    }
  }

  /** How many milliseconds after the window's start a timer is due. */
  offsetIn(window: FiringWindow, identity: number): number {
    const { counts, sliceMs } = this.#loadOf(window)
    const { windowMs } = window
    const first = identity % counts.length
    let quietest = first
    let least = Infinity
    for (let index = 0; index < counts.length; index++) {
      // Each timer starts at its own slice, so that instances with the same forecast choose different slices.
      const slice = (first + index) % counts.length
      // The last slice may be shorter than the others.
      const density = (counts[slice]! + 1) / Math.min(sliceMs, windowMs - slice * sliceMs)
      if (density >= least) continue
      least = density
      quietest = slice
    }
    counts[quietest]!++
    const start = quietest * sliceMs
    return start + (Math.floor(identity / counts.length) % Math.min(sliceMs, windowMs - start))
  }

  #loadOf(window: FiringWindow): Load {
    const name = windowKeyOf(window)
    const known = this.#loads.get(name)
    if (known !== undefined) {
      this.#loads.delete(name)
      this.#loads.set(name, known)
      return known
    }
    const sliceMs = Math.ceil(window.windowMs / MAX_SLICES_OF_WINDOW)
    const counts = new Float64Array(Math.ceil(window.windowMs / sliceMs))
    const load = { sliceMs, counts, readAt: -Infinity }
    this.#loads.set(name, load)
    if (this.#loads.size > MAX_WINDOWS_IN_MEMORY) this.#loads.delete(this.#loads.keys().next().value!)
    return load
  }

  async #read({ instant, windowMs }: FiringWindow, load: Load): Promise<void> {
    const { sliceMs, counts } = load
    const startedAt = this.#clock.monotonic()
    try {
      const forecast = await this.#store.histogram({
        fromInclusive: instant,
        untilExclusive: instant + windowMs,
        sliceMs,
      })
      counts.set(forecast)
      load.readAt = this.#clock.monotonic()
    } catch (error) {
      this.#onStoreError('histogram', error)
    }
    this.#savedMs -= this.#clock.monotonic() - startedAt
  }

  #mayRead(): boolean {
    const now = this.#clock.monotonic()
    this.#savedMs = Math.min(
      FORECAST_MAX_SAVED_MS,
      this.#savedMs + (now - this.#savedAt) * FORECAST_TIME_SHARE,
    )
    this.#savedAt = now
    return this.#savedMs > 0
  }
}

function windowKeyOf({ instant, windowMs }: FiringWindow): string {
  return `${instant}/${windowMs}`
}
