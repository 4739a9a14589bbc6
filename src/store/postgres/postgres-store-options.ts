import { checkOptions, checkWhole, InvalidInputError, shown } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { nameLimits } from '../../timer/index.js'
import { checkStrategyOption } from '../check-call.js'
import { MOST_SHARDS, USUAL_SHARDS } from '../shard-count.js'
import type { Strategy } from '../store.js'

export interface PostgresStoreOptions {
  /** Whose time the store keeps. The database's own unless a clock other than the machine's is given. */
  readonly clock?: Clock
  /** How timers find their way to memory. Default `owned`; a store that is there keeps what it was made with. */
  readonly strategy?: Strategy
  /** How many shards a new store gets. Default what the URL says (`?shards=64`), else 16; one that is there keeps what it has. */
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** The schema that holds the tables. Default what the URL says (`?schema=mine`), else `carillon`. */
  readonly schema?: string
  /** Most connections for timers. Default 10; one more listens, two more are for leases and heartbeats. */
  readonly maxConnections?: number
  /** A statement that takes longer is undone by the server. Default 30,000. */
  readonly statementTimeoutMs?: number
  /** Give up connecting after this long. Default 10,000. */
  readonly connectTimeoutMs?: number
}

export interface WholePostgresStoreOptions extends Required<Omit<PostgresStoreOptions, 'strategy'>> {
  readonly strategy: Strategy | undefined
}

const known = [
  'clock',
  'strategy',
  'shardCount',
  'maxPayloadBytes',
  'schema',
  'maxConnections',
  'statementTimeoutMs',
  'connectTimeoutMs',
]

// A batch of payloads is one message, and PostgreSQL's messages end at 1 GB.
const MOST_PAYLOAD_BYTES = 64 << 20

/** The options with their defaults; refuses what it does not know. */
export function postgresStoreOptions(
  options: PostgresStoreOptions,
  ofUrl: Omit<TakenApart, 'url'> = {},
): WholePostgresStoreOptions {
  checkOptions('PostgresStore', options, known)
  const whole = {
    clock: options.clock ?? systemClock,
    strategy: options.strategy,
    shardCount: options.shardCount ?? ofUrl.shardCount ?? USUAL_SHARDS,
    maxPayloadBytes: options.maxPayloadBytes ?? nameLimits.payloadBytes,
    schema: options.schema ?? ofUrl.schema ?? 'carillon',
    maxConnections: options.maxConnections ?? 10,
    statementTimeoutMs: options.statementTimeoutMs ?? 30_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
  }
  checkWhole('shardCount', whole.shardCount, 1, MOST_SHARDS)
  checkWhole('maxPayloadBytes', whole.maxPayloadBytes, 0, MOST_PAYLOAD_BYTES)
  checkWhole('maxConnections', whole.maxConnections, 1, 1000)
  checkWhole('statementTimeoutMs', whole.statementTimeoutMs, 1, 3_600_000)
  checkWhole('connectTimeoutMs', whole.connectTimeoutMs, 1, 3_600_000)
  checkStrategyOption(whole.strategy)
  if (typeof whole.schema !== 'string' || !/^[a-z_][a-z0-9_]{0,40}$/.test(whole.schema)) {
    throw new InvalidInputError(
      'invalid-option',
      `schema must be a name of small letters, digits and _, at most 41, got ${shown(whole.schema)}`,
    )
  }
  return whole
}

/** What a URL says: as the driver takes it, and what the driver would not understand. */
interface TakenApart {
  readonly url: string
  readonly schema?: string
  readonly shardCount?: number
}

export function takenApart(url: string): TakenApart {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const schema = parsed?.searchParams.get('schema') ?? undefined
  const shards = parsed?.searchParams.get('shards') ?? undefined
  if (parsed === undefined || (schema === undefined && shards === undefined)) return { url }
  if (shards !== undefined && !(/^[1-9]\d{0,3}$/.test(shards) && Number(shards) <= MOST_SHARDS)) {
    throw new InvalidInputError(
      'invalid-store-url',
      `shards takes a whole number from 1 to ${MOST_SHARDS}, got ${shown(shards)}`,
    )
  }
  parsed.searchParams.delete('schema')
  parsed.searchParams.delete('shards')
  return {
    url: parsed.href,
    ...(schema !== undefined && { schema }),
    ...(shards !== undefined && { shardCount: Number(shards) }),
  }
}
