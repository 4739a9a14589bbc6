import type { Place } from '../../timer/index.js'
import type { EngineSettings } from '../settings.js'
import type { Governor } from './governor.js'
import type { LoadPolicy } from './load-policy.js'

/**
 * Keeps a window of future timers in memory, as long as the governor allows, and loads the next half when half of it
 * is used up. What is in the store plays no part in when it loads.
 */
export class PreloadPolicy implements LoadPolicy {
  readonly raisesSettledLevel = true
  readonly fullWindowMs: number
  readonly #governor: Governor

  constructor(settings: EngineSettings, governor: Governor) {
    this.fullWindowMs = settings.windowMs
    this.#governor = governor
  }

  get windowMs(): number {
    return this.#governor.windowMs
  }

  nextLoadAt(readLevel: Place): number {
    return readLevel.position - Math.ceil(this.windowMs / 2)
  }

  loadBy(): boolean {
    return false
  }

  loaded(): void {
    // The read level says it all.
  }

  lowered(): void {
    // The read level says it all.
  }
}
