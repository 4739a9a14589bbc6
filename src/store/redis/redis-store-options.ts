import { checkOptions, checkWhole } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { nameLimits } from '../../timer/index.js'
import { checkStrategyOption } from '../check-call.js'
import { MOST_SHARDS, USUAL_SHARDS } from '../shard-count.js'
import type { Strategy } from '../store.js'
import type { RedisDriver } from './driver.js'
import { loadDriver } from './driver.js'

export interface RedisStoreOptions {
  /** Another clock than the server's, for tests: all who open the store must then have the same. */
  readonly clock?: Clock
  /** What a new store is made for, default `owned`; one that is there must have been made for it. */
  readonly strategy?: Strategy
  /** How many shards a new store gets. Default what the URL says (`?shards=64`), else 16; one that is there keeps what it has. */
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** Sizes, each with a default of its own. */
  readonly tuning?: Partial<RedisTuning>
  /** Where the driver comes from: for tests. */
  readonly loadDriver?: () => Promise<RedisDriver>
}

export interface RedisTuning {
  /** How much time a bucket of a new store spans; one that is there keeps what it has. */
  readonly bucketMs: number
  /** A part with more rows is cut. */
  readonly partRows: number
  /** So many rows of one call, or more, are kept together as they came. */
  readonly chunkRows: number
}

const tuningDefaults: RedisTuning = Object.freeze({ bucketMs: 86_400_000, partRows: 2000, chunkRows: 128 })

const known = ['clock', 'strategy', 'shardCount', 'maxPayloadBytes', 'tuning', 'loadDriver']

// A value may have 512 MB in Redis, but a script holds it in memory more than once.
const MOST_PAYLOAD_BYTES = 16 << 20

/** The options with their defaults; refuses what it does not know. */
export function redisStoreOptions(options: RedisStoreOptions, shardCountOfUrl?: number) {
  checkOptions('RedisStore', options, known)
  checkOptions('tuning', options.tuning ?? {}, Object.keys(tuningDefaults))
  const { strategy } = options
  checkStrategyOption(strategy)
  const whole = {
    clock: options.clock ?? systemClock,
    strategy,
    shardCount: options.shardCount ?? shardCountOfUrl ?? USUAL_SHARDS,
    maxPayloadBytes: options.maxPayloadBytes ?? nameLimits.payloadBytes,
    tuning: { ...tuningDefaults, ...options.tuning },
    loadDriver: options.loadDriver ?? loadDriver,
  }
  checkWhole('shardCount', whole.shardCount, 1, MOST_SHARDS)
  checkWhole('maxPayloadBytes', whole.maxPayloadBytes, 0, MOST_PAYLOAD_BYTES)
  checkWhole('tuning.bucketMs', whole.tuning.bucketMs, 1, 2 ** 40)
  checkWhole('tuning.partRows', whole.tuning.partRows, 2, 1_000_000)
  checkWhole('tuning.chunkRows', whole.tuning.chunkRows, 1, 1_000_000)
  return whole
}
