import type { Clock } from '../../time/index.js'
import type { EngineSettings } from '../settings.js'
import type { LoadPolicy } from './load-policy.js'
import { EMPTY_LOADS_AT_FULL_PACE } from '../defaults.js'

/**
 * Loads only what is due within a moment: when the earliest row that it knows of is due, and otherwise at an interval
 * that adapts. Full pages shorten the interval, empty ones lengthen it.
 */
export class LookaheadPolicy implements LoadPolicy {
  readonly raisesSettledLevel = false
  readonly windowMs: number
  readonly fullWindowMs: number
  readonly #settings: EngineSettings
  readonly #clock: Clock
  #nextLoadAt = 0
  // No row at or after the read level lies before this; undefined when there is none.
  #nextPosition: number | undefined = 0
  #intervalMs: number
  #emptyLoads = 0

  constructor(settings: EngineSettings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
    this.windowMs = settings.lookaheadMs
    this.fullWindowMs = settings.lookaheadMs
    this.#intervalMs = settings.loadIntervalMs
  }

  nextLoadAt(): number {
    return this.#nextLoadAt
  }

  loadBy(position: number): boolean {
    if (this.#nextPosition === undefined || position < this.#nextPosition) this.#nextPosition = position
    if (position >= this.#nextLoadAt) return false
    this.#nextLoadAt = position
    return true
  }

  loaded(count: number, isFull: boolean, nextPosition: number | undefined): void {
    const { loadIntervalMs, minLoadIntervalMs, maxLoadIntervalMs } = this.#settings
    this.#nextPosition = nextPosition
    this.#emptyLoads = count === 0 ? this.#emptyLoads + 1 : 0
    if (isFull) this.#intervalMs = minLoadIntervalMs
    else if (count > 0) this.#intervalMs = loadIntervalMs
    else if (this.#emptyLoads > EMPTY_LOADS_AT_FULL_PACE)
      this.#intervalMs = Math.min(this.#intervalMs * 2, maxLoadIntervalMs)
    const now = this.#clock.now()
    this.#nextLoadAt = isFull ? now : Math.min(now + this.#intervalMs, nextPosition ?? Infinity)
  }

  lowered(position: number): void {
    this.#nextPosition = position
    // What was dropped is read again by then, though the next load was planned for later.
    this.#nextLoadAt = Math.min(this.#nextLoadAt, position)
  }
}
