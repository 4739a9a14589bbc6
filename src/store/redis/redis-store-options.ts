import { checkOptions, checkInteger } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { nameLimits } from '../../timer/index.js'
import { checkStrategyOption } from '../check/check-call.js'
import { MAX_SHARDS, DEFAULT_SHARDS } from '../shard-count.js'
import type { StoreMode } from '../store.js'
import { MAX_PAYLOAD_BYTES, type RedisTuning, tuningDefaults } from './defaults.js'
import { loadDriver, type RedisDriver } from './net/driver.js'

/** The options of a Redis store. */
export interface RedisStoreOptions {
  /** A clock to use instead of the server's, for tests. Every process that opens the store must use the same one. */
  readonly clock?: Clock
  /** What a new store is made for. Default `owned`. An existing store must have been made for the same. */
  readonly strategy?: StoreMode
  /** How many shards a new store gets. Default: the URL's `?shards=64`, else 16. An existing store keeps its own. */
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** Sizes, for tests. Each has its own default. */
  readonly tuning?: Partial<RedisTuning>
  /** Loads the driver, for tests. */
  readonly loadDriver?: () => Promise<RedisDriver>
}

const knownOptions = ['clock', 'strategy', 'shardCount', 'maxPayloadBytes', 'tuning', 'loadDriver']

/** The options with their defaults. Throws for an unknown option. */
export function redisStoreOptions(options: RedisStoreOptions, shardCountOfUrl?: number) {
  checkOptions('RedisStore', options, knownOptions)
  checkOptions('tuning', options.tuning ?? {}, Object.keys(tuningDefaults))
  const { strategy } = options
  checkStrategyOption(strategy)
  const resolved = {
    clock: options.clock ?? systemClock,
    strategy,
    shardCount: options.shardCount ?? shardCountOfUrl ?? DEFAULT_SHARDS,
    maxPayloadBytes: options.maxPayloadBytes ?? nameLimits.payloadBytes,
    tuning: { ...tuningDefaults, ...options.tuning },
    loadDriver: options.loadDriver ?? loadDriver,
  }
  checkInteger('shardCount', resolved.shardCount, 1, MAX_SHARDS)
  checkInteger('maxPayloadBytes', resolved.maxPayloadBytes, 0, MAX_PAYLOAD_BYTES)
  checkInteger('tuning.bucketMs', resolved.tuning.bucketMs, 1, 2 ** 40)
  checkInteger('tuning.partRows', resolved.tuning.partRows, 2, 1_000_000)
  checkInteger('tuning.chunkRows', resolved.tuning.chunkRows, 1, 1_000_000)
  return resolved
}
