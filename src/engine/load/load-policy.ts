import type { Clock } from '../../time/index.js'
import type { Place } from '../../timer/index.js'
import type { EngineSettings } from '../settings.js'
import type { Governor } from './governor.js'
import { LookaheadPolicy } from './lookahead-policy.js'
import { PreloadPolicy } from './preload-policy.js'

/** When the rows of a shard are loaded and how far ahead: all that tells `preload` and `lookahead` apart. */
export interface LoadPolicy {
  /** Whether a settlement raises the settled level. If not, it removes the finished rows one by one. */
  readonly raisesSettledLevel: boolean
  /** How far ahead of now a load reaches: at present, and when memory is not short. */
  readonly windowMs: number
  readonly fullWindowMs: number
  /** When the next load is due. */
  nextLoadAt(readLevel: Place): number
  /** A row that is not in memory is due at `position`. Answers whether the next load is earlier because of it. */
  loadBy(position: number): boolean
  /** A page was loaded. No row of the store at or after the read level lies before `nextPosition`. */
  loaded(count: number, isFull: boolean, nextPosition: number | undefined): void
  /** The read level was lowered: rows from `position` on have to be loaded again. */
  lowered(position: number): void
}

export function loadPolicyOf(settings: EngineSettings, clock: Clock, governor: Governor): LoadPolicy {
  return settings.strategy === 'preload'
    ? new PreloadPolicy(settings, governor)
    : new LookaheadPolicy(settings, clock)
}
