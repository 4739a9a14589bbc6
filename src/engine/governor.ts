import type { EngineSettings } from './settings.js'
import type { Window } from './window.js'

// Shares of the limits: above the first the window is shortened, loads fill up to the second, and below the
// third the window grows back. Loads stop well before memory is tight, or they would undo what shortening did.
const TIGHT = 0.95
const FILL = 0.8
const ROOMY = 0.6
// What due timers that cannot start may have of it when it is short.
const STUCK = 0.2
const SHORTEN = 0.8

/** Keeps the rows in memory under their limits, by count and by bytes, by the length of the window. */
export class Governor {
  readonly #settings: EngineSettings
  #windowMs: number

  constructor(settings: EngineSettings) {
    this.#settings = settings
    this.#windowMs = settings.windowMs
  }

  get windowMs(): number {
    return this.#windowMs
  }

  /** How many rows may be loaded. */
  room(window: Window): number {
    if (window.bytes >= this.#settings.maxBytes * FILL) return 0
    return Math.max(0, Math.ceil(this.#settings.maxTimers * FILL) - window.size)
  }

  /** Whether `count` rows more stay under the limit. An empty window takes any one batch. */
  hasRoomFor(window: Window, count: number): boolean {
    return window.size === 0 || window.size + count <= this.#settings.maxTimers
  }

  isTight(window: Window): boolean {
    return window.size >= this.#settings.maxTimers * TIGHT || window.bytes >= this.#settings.maxBytes * TIGHT
  }

  isCrowded(window: Window): boolean {
    return window.size > this.#settings.maxTimers * ROOMY || window.bytes > this.#settings.maxBytes * ROOMY
  }

  /** How many due timers that cannot start may stay when memory is crowded. */
  share(window: Window): number {
    const { maxTimers, maxBytes } = this.#settings
    const bytesEach = window.bytes / Math.max(1, window.size)
    return Math.floor(STUCK * Math.min(maxTimers, maxBytes / Math.max(1, bytesEach)))
  }

  /** The next shorter window; below the shortest there is only what is due. */
  nextShorter(): number {
    return this.#windowMs > this.#settings.minWindowMs ? this.#shorter() : 1
  }

  #shorter(): number {
    return Math.max(this.#settings.minWindowMs, Math.floor(this.#windowMs * SHORTEN))
  }

  shrink(): void {
    this.#windowMs = this.#shorter()
  }

  grow(): void {
    this.#windowMs = Math.min(this.#settings.windowMs, Math.ceil(this.#windowMs / SHORTEN))
  }
}
