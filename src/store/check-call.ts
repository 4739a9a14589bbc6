import { InvalidInputError, shown, StoreError } from '../error/index.js'
import type { Store, Strategy } from './store.js'

/** Refuses a call that is for stores of another strategy. */
export function checkStrategy(store: Store, strategy: Strategy, call: string): void {
  if (store.strategy === strategy) return
  throw new StoreError(
    'wrong-strategy',
    `${call} is for the strategy ${strategy}; this store was made for ${store.strategy}`,
  )
}

/** The shard of this number, of all that a store has. */
export function shardAt<Shard>(shards: readonly Shard[], shard: number): Shard {
  const found = shards[shard]
  if (found === undefined) throw unknownShard(shard, shards.length)
  return found
}

export function unknownShard(shard: number, shardCount: number): InvalidInputError {
  return new InvalidInputError(
    'invalid-option',
    `the store has the shards 0 to ${shardCount - 1}, asked was ${shown(shard)}`,
  )
}

/** Refuses an option that names no strategy. */
export function checkStrategyOption(strategy: unknown): void {
  if (strategy === undefined || strategy === 'owned' || strategy === 'claim') return
  throw new InvalidInputError('invalid-option', `strategy must be owned or claim, got ${shown(strategy)}`)
}
