import type { EngineSettings } from '../settings.js'
import type { Window } from './window.js'
import { BLOCKED, CROWDED, FILL, SHORTEN_FACTOR, TIGHT } from '../defaults.js'

/** Keeps the rows in memory below their limits, by count and by bytes. It does so by the length of the window. */
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

  /** Whether `count` more rows stay below the limit. An empty window takes any single batch. */
  hasRoomFor(window: Window, count: number): boolean {
    return window.size === 0 || window.size + count <= this.#settings.maxTimers
  }

  isTight(window: Window): boolean {
    return window.size >= this.#settings.maxTimers * TIGHT || window.bytes >= this.#settings.maxBytes * TIGHT
  }

  isCrowded(window: Window): boolean {
    return (
      window.size > this.#settings.maxTimers * CROWDED || window.bytes > this.#settings.maxBytes * CROWDED
    )
  }

  /** How many due timers that cannot start may stay when memory is crowded. */
  blockedLimit(window: Window): number {
    const { maxTimers, maxBytes } = this.#settings
    const bytesEach = window.bytes / Math.max(1, window.size)
    return Math.floor(BLOCKED * Math.min(maxTimers, maxBytes / Math.max(1, bytesEach)))
  }

  /** The next shorter window. Below `minWindowMs` only timers that are due stay. */
  nextShorter(): number {
    return this.#windowMs > this.#settings.minWindowMs ? this.#shorter() : 1
  }

  #shorter(): number {
    return Math.max(this.#settings.minWindowMs, Math.floor(this.#windowMs * SHORTEN_FACTOR))
  }

  shrink(): void {
    this.#windowMs = this.#shorter()
  }

  grow(): void {
    this.#windowMs = Math.min(this.#settings.windowMs, Math.ceil(this.#windowMs / SHORTEN_FACTOR))
  }
}
