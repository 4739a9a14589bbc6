import { StoreError } from '../error/index.js'
import type { Store } from '../store/index.js'
import type { EngineSettings } from './settings.js'

/** Refuses a strategy that the store was not made for. */
export function checkStrategy(store: Store, { strategy }: EngineSettings): void {
  const isForClaims = store.mode === 'claim'
  if (isForClaims === (strategy === 'claim')) return
  throw new StoreError(
    'wrong-strategy',
    isForClaims
      ? `this ${store.name} store was made for the strategy claim, the engine was asked for ${strategy}: leave engine.strategy out, or give it a store of its own`
      : `this ${store.name} store was made for owners (preload, lookahead), the engine was asked for claim: leave engine.strategy out, or give it a store of its own`,
  )
}
