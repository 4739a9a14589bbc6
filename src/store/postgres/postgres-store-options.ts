import { checkOptions, checkInteger, InvalidInputError, shown } from '../../error/index.js'
import { type Clock, systemClock } from '../../time/index.js'
import { nameLimits } from '../../timer/index.js'
import { checkStrategyOption } from '../check/check-call.js'
import { MAX_SHARDS, DEFAULT_SHARDS } from '../shard-count.js'
import type { StoreMode } from '../store.js'
import { optionDefaults } from './defaults.js'
import { allowances, type PostgresAllowance } from './net/durability.js'

/** The options of a PostgreSQL store. */
export interface PostgresStoreOptions {
  /** The store's clock. Default the clock of the database server. */
  readonly clock?: Clock
  /** The mode of a new store. Default `owned`. An existing store keeps its mode. */
  readonly strategy?: StoreMode
  /** How many shards a new store gets. Default the URL's `?shards=64`, else 16. An existing store keeps its number. */
  readonly shardCount?: number
  readonly maxPayloadBytes?: number
  /** The schema that holds the tables. Default the URL's `?schema=mine`, else `carillon`. */
  readonly schema?: string
  /** The most connections for timers. Default 10. One more listens, and two more serve leases and heartbeats. */
  readonly maxConnections?: number
  /** The server cancels a statement that takes longer. Default 30,000. */
  readonly statementTimeoutMs?: number
  /** How long to wait for a connection. Default 10,000. */
  readonly connectTimeoutMs?: number
  /** Server settings to accept although they may lose timers. Default the URL's `?allow=no-fsync`, else none. */
  readonly allow?: readonly PostgresAllowance[]
}

export interface CompletePostgresStoreOptions extends Required<Omit<PostgresStoreOptions, 'strategy'>> {
  readonly strategy: StoreMode | undefined
}

const optionNames = [
  'clock',
  'strategy',
  'shardCount',
  'maxPayloadBytes',
  'schema',
  'maxConnections',
  'statementTimeoutMs',
  'connectTimeoutMs',
  'allow',
]

// A batch of payloads is one message, and a message of PostgreSQL has at most 1 GB.
const MAX_PAYLOAD_BYTES = 64 << 20

/** Fills in the defaults. Refuses unknown options and wrong values. */
export function postgresStoreOptions(
  options: PostgresStoreOptions,
  ofUrl: Omit<ParsedStoreUrl, 'url'> = {},
): CompletePostgresStoreOptions {
  checkOptions('PostgresStore', options, optionNames)
  const complete = {
    clock: options.clock ?? systemClock,
    strategy: options.strategy,
    shardCount: options.shardCount ?? ofUrl.shardCount ?? DEFAULT_SHARDS,
    maxPayloadBytes: options.maxPayloadBytes ?? nameLimits.payloadBytes,
    schema: options.schema ?? ofUrl.schema ?? optionDefaults.schema,
    maxConnections: options.maxConnections ?? optionDefaults.maxConnections,
    statementTimeoutMs: options.statementTimeoutMs ?? optionDefaults.statementTimeoutMs,
    connectTimeoutMs: options.connectTimeoutMs ?? optionDefaults.connectTimeoutMs,
    allow: options.allow ?? ofUrl.allow ?? [],
  }
  checkInteger('shardCount', complete.shardCount, 1, MAX_SHARDS)
  checkInteger('maxPayloadBytes', complete.maxPayloadBytes, 0, MAX_PAYLOAD_BYTES)
  checkInteger('maxConnections', complete.maxConnections, 1, 1000)
  checkInteger('statementTimeoutMs', complete.statementTimeoutMs, 1, 3_600_000)
  checkInteger('connectTimeoutMs', complete.connectTimeoutMs, 1, 3_600_000)
  checkStrategyOption(complete.strategy)
  if (!Array.isArray(complete.allow) || !complete.allow.every(isAllowance)) {
    throw new InvalidInputError(
      'invalid-option',
      `allow takes an array of ${allowances.join(', ')}, got ${shown(complete.allow)}`,
    )
  }
  if (typeof complete.schema !== 'string' || !/^[a-z_][a-z0-9_]{0,40}$/.test(complete.schema)) {
    throw new InvalidInputError(
      'invalid-option',
      `schema must have 1 to 41 characters: lower-case letters, digits and _, not beginning with a digit, got ${shown(complete.schema)}`,
    )
  }
  return complete
}

/** A store URL: the part for the driver, and the parameters that only Carillon knows. */
interface ParsedStoreUrl {
  /** As the driver takes it. */
  readonly url: string
  readonly schema?: string
  readonly shardCount?: number
  readonly allow?: readonly PostgresAllowance[]
}

export function parseStoreUrl(url: string): ParsedStoreUrl {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const schema = parsed?.searchParams.get('schema') ?? undefined
  const shards = parsed?.searchParams.get('shards') ?? undefined
  const allow = parsed?.searchParams.get('allow')?.split(',')
  if (parsed === undefined || (schema ?? shards ?? allow) === undefined) return { url }
  if (shards !== undefined && !(/^[1-9]\d{0,3}$/.test(shards) && Number(shards) <= MAX_SHARDS)) {
    throw new InvalidInputError(
      'invalid-store-url',
      `shards takes an integer from 1 to ${MAX_SHARDS}, got ${shown(shards)}`,
    )
  }
  if (allow !== undefined && !allow.every(isAllowance)) {
    throw new InvalidInputError(
      'invalid-store-url',
      `allow takes ${allowances.join(', ')}, got ${shown(allow.join(','))}`,
    )
  }
  parsed.searchParams.delete('allow')
  parsed.searchParams.delete('schema')
  parsed.searchParams.delete('shards')
  return {
    url: parsed.href,
    ...(schema !== undefined && { schema }),
    ...(shards !== undefined && { shardCount: Number(shards) }),
    ...(allow !== undefined && { allow }),
  }
}

function isAllowance(text: unknown): text is PostgresAllowance {
  return allowances.some((allowance) => allowance === text)
}
