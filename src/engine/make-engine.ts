import { ClaimEngine } from './claim/claim-engine.js'
import { OwnerEngine, type EngineOptions } from './owner-engine.js'
import type { TimerEngine } from './timer-engine.js'

/** The engine for a store: with the given strategy, or with the one that the store was made for. */
export function makeEngine(options: EngineOptions): TimerEngine {
  const { store, settings } = options
  const strategy = settings?.strategy ?? (store.mode === 'claim' ? 'claim' : 'preload')
  const chosen = { ...options, settings: { ...settings, strategy } }
  return strategy === 'claim' ? new ClaimEngine(chosen) : new OwnerEngine(chosen)
}
