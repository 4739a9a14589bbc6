import type { Store } from '../store/index.js'
import type { Clock } from '../time/index.js'

/** The time within which an occurrence may fire. */
export interface FiringWindow {
  readonly instant: number
  readonly windowMs: number
}

/** How many timers are due in each slice of a window, as far as is known. */
interface Load {
  readonly sliceMs: number
  readonly counts: Float64Array
  /** By the monotonic clock; -Infinity when the store was not asked. */
  readAt: number
}

const MOST_SLICES = 600
const MOST_WINDOWS = 1000
// What the store told is believed for so long; what is placed here meanwhile is added to it.
const BELIEVED_MS = 10_000
// A forecast may be dear in a large store: in the long run it takes a twentieth of the time at most.
const SHARE = 1 / 20
const MOST_SAVED_MS = 1000

/**
 * Places timers within their windows where it is quietest, by the store's forecast and by what was placed here
 * since it was read: so midnight is no herd. A place is chosen once, when the timer is set. A forecast that
 * cannot be had now is done without: the timer's identity decides then.
 */
export class Spread {
  readonly #store: Store
  readonly #clock: Clock
  readonly #onTrouble: (call: string, error: unknown) => void
  // The one that was asked for longest ago comes first.
  readonly #loads = new Map<string, Load>()
  #savedMs = MOST_SAVED_MS
  #savedAt: number

  constructor(parts: { store: Store; clock: Clock; onTrouble: (call: string, error: unknown) => void }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#onTrouble = parts.onTrouble
    this.#savedAt = parts.clock.monotonic()
  }

  /** Looks at the forecast of these windows, where that was not done lately. */
  async prepare(windows: readonly FiringWindow[]): Promise<void> {
    const seen = new Set<string>()
    for (const window of windows) {
      const name = nameOf(window)
      if (seen.has(name)) continue
      seen.add(name)
      const load = this.#loadOf(window)
      const isKnown = this.#clock.monotonic() - load.readAt < BELIEVED_MS
      if (!isKnown && this.#mayRead()) await this.#read(window, load)
    }
  }

  /** How much after its instant a timer is due. */
  place(window: FiringWindow, identity: number): number {
    const { counts, sliceMs } = this.#loadOf(window)
    const { windowMs } = window
    const first = identity % counts.length
    let quietest = first
    let least = Infinity
    for (let index = 0; index < counts.length; index++) {
      // From a place of its own on, so that instances that know the same do not all choose the same.
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
    const name = nameOf(window)
    const known = this.#loads.get(name)
    if (known !== undefined) {
      this.#loads.delete(name)
      this.#loads.set(name, known)
      return known
    }
    const sliceMs = Math.ceil(window.windowMs / MOST_SLICES)
    const counts = new Float64Array(Math.ceil(window.windowMs / sliceMs))
    const load = { sliceMs, counts, readAt: -Infinity }
    this.#loads.set(name, load)
    if (this.#loads.size > MOST_WINDOWS) this.#loads.delete(this.#loads.keys().next().value!)
    return load
  }

  async #read({ instant, windowMs }: FiringWindow, load: Load): Promise<void> {
    const { sliceMs, counts } = load
    const startedAt = this.#clock.monotonic()
    try {
      const told = await this.#store.histogram({
        fromInclusive: instant,
        untilExclusive: instant + windowMs,
        sliceMs,
      })
      counts.set(told)
      load.readAt = this.#clock.monotonic()
    } catch (error) {
      this.#onTrouble('histogram', error)
    }
    this.#savedMs -= this.#clock.monotonic() - startedAt
  }

  #mayRead(): boolean {
    const now = this.#clock.monotonic()
    this.#savedMs = Math.min(MOST_SAVED_MS, this.#savedMs + (now - this.#savedAt) * SHARE)
    this.#savedAt = now
    return this.#savedMs > 0
  }
}

function nameOf({ instant, windowMs }: FiringWindow): string {
  return `${instant}/${windowMs}`
}
