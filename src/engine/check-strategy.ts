import { StoreError } from '../error/index.js'
import type { Store } from '../store/index.js'
import type { EngineSettings } from './settings.js'

/** Refuses an engine on a store that was made for others. */
export function checkStrategy(store: Store, { strategy }: EngineSettings): void {
  const isForClaims = store.strategy === 'claim'
  if (isForClaims === (strategy === 'claim')) return
  throw new StoreError(
    'wrong-strategy',
    isForClaims
      ? `this ${store.name} store was made for the strategy claim, the engine was asked for ${strategy}: leave engine.strategy out, or give it a store of its own`
      : `this ${store.name} store was made for owners (preload, lookahead), the engine was asked for claim: leave engine.strategy out, or give it a store of its own`,
  )
}
