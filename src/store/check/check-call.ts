import { InvalidInputError, shown, StoreError } from '../../error/index.js'
import type { Store, StoreMode } from '../store.js'

/** Refuses a call that is for stores of another mode. */
export function checkMode(store: Store, mode: StoreMode, call: string): void {
  if (store.mode === mode) return
  throw new StoreError(
    'wrong-strategy',
    `${call} needs a store made for ${mode}; this store was made for ${store.mode}`,
  )
}

/** The shard with this number, or an error that names the valid numbers. */
export function shardAt<Shard>(shards: readonly Shard[], shard: number): Shard {
  const found = shards[shard]
  if (found === undefined) throw unknownShard(shard, shards.length)
  return found
}

export function unknownShard(shard: number, shardCount: number): InvalidInputError {
  return new InvalidInputError(
    'invalid-option',
    `no shard ${shown(shard)}: this store has shards 0 to ${shardCount - 1}`,
  )
}

/** Refuses a value of the option `strategy` that is no store mode. */
export function checkStrategyOption(strategy: unknown): void {
  if (strategy === undefined || strategy === 'owned' || strategy === 'claim') return
  throw new InvalidInputError('invalid-option', `strategy must be 'owned' or 'claim', got ${shown(strategy)}`)
}
