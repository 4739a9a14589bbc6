import { ClaimEngine } from './claim/claim-engine.js'
import { Engine, type EngineOptions } from './engine.js'
import type { TimerEngine } from './timer-engine.js'

/** The engine for a store: of the strategy that is asked for, or else of the one that the store was made for. */
export function makeEngine(options: EngineOptions): TimerEngine {
  const { store, settings } = options
  const strategy = settings?.strategy ?? (store.strategy === 'claim' ? 'claim' : 'preload')
  const chosen = { ...options, settings: { ...settings, strategy } }
  return strategy === 'claim' ? new ClaimEngine(chosen) : new Engine(chosen)
}
