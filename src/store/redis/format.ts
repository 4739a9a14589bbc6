import { shown, StoreError } from '../../error/index.js'
import type { StoreMode } from '../store.js'
import { shardKey, storeKey } from './keys.js'
import type { RedisNodes, ServerReport } from './net/nodes.js'
import { replyCodeOf } from './net/redis-error.js'
import type { RedisTarget } from './net/redis-url.js'
import { Script } from './scripts/script.js'
import { formatLua, liveMembersLua, setVersionLua } from './scripts/shared.lua.js'
import { upgradeLua } from './scripts/upgrade.lua.js'

/** The store's fixed properties. They are written when the store is created. */
export interface RedisFormat {
  readonly shardCount: number
  readonly strategy: StoreMode
  readonly bucketMs: number
}

export const FORMAT_VERSION = 3
const formatScript = Script.writing(formatLua)
const upgradeScript = Script.writing(upgradeLua)
const setVersionScript = Script.writing(setVersionLua)
const liveMembersScript = Script.reading(liveMembersLua)

/** Reads the store's format, or creates the store. Of several processes that try at once, one creates it. */
export async function readOrCreateFormat(
  nodes: RedisNodes,
  wanted: Omit<RedisFormat, 'strategy'> & { readonly strategy: StoreMode | undefined },
): Promise<RedisFormat> {
  const key = storeKey(nodes.target.prefix)
  const args = [
    '',
    String(FORMAT_VERSION),
    String(wanted.shardCount),
    wanted.strategy ?? 'owned',
    String(wanted.bucketMs),
  ]
  const reply = await formatScript.run(nodes, key, args).catch(rethrowForeign)
  const [format, version, shards, strategy, width] = (reply as (Buffer | null)[]).map((text) =>
    String(text ?? ''),
  )
  if (format !== 'carillon' || !(Number(version) >= 1)) {
    throw new StoreError('store-foreign', `the key ${key} holds data that Carillon did not write`)
  }
  if (Number(version) > FORMAT_VERSION) {
    throw new StoreError(
      'store-newer',
      `the store ${nodes.target.prefix} has layout version ${version}; this version of Carillon knows versions up to ${FORMAT_VERSION}`,
    )
  }
  if (wanted.strategy !== undefined && wanted.strategy !== strategy) {
    throw new StoreError(
      'wrong-strategy',
      `the store ${nodes.target.prefix} was made for the strategy ${strategy}, not ${wanted.strategy}: open it as ${strategy}, or export its timers into a store with another prefix`,
    )
  }
  const found = { shardCount: Number(shards), strategy: strategy as StoreMode, bucketMs: Number(width) }
  if (Number.isInteger(found.shardCount) && found.shardCount > 0 && found.bucketMs > 0) {
    if (Number(version) < FORMAT_VERSION) await upgrade(nodes, found.shardCount)
    return found
  }
  throw new StoreError(
    'store-damaged',
    `the key ${key} has an invalid format: ${shown(shards)} shards, buckets of ${shown(width)} ms`,
  )
}

/**
 * Upgrades each shard, and writes the version last. A process that is interrupted, or opens the store meanwhile,
 * repeats it. Throws while an instance is alive: that one knows only the older layout, and nobody would find what it
 * acknowledges after the upgrade.
 */
async function upgrade(nodes: RedisNodes, shardCount: number): Promise<void> {
  const { prefix } = nodes.target
  const alive = Number(await liveMembersScript.run(nodes, storeKey(prefix), ['', String(FORMAT_VERSION)]))
  if (alive > 0) {
    throw new StoreError(
      'store-in-use',
      `the store ${prefix} has an older layout, and ${alive} instances that know only that layout are alive: stop them, then open the store again to upgrade it to layout ${FORMAT_VERSION}`,
    )
  }
  await Promise.all(
    Array.from({ length: shardCount }, (_, shard) => upgradeScript.run(nodes, shardKey(prefix, shard), [''])),
  )
  await setVersionScript.run(nodes, storeKey(prefix), ['', String(FORMAT_VERSION)])
}

function rethrowForeign(error: unknown): never {
  if (error instanceof Error && replyCodeOf(error.cause) === 'WRONGTYPE') {
    throw new StoreError('store-foreign', "the store's key holds data that Carillon did not write", {
      cause: error,
    })
  }
  throw error
}

/** Throws for a server that may lose what it acknowledged, unless the URL allows it. */
export function checkServer({ info, flushing }: ServerReport, target: RedisTarget): void {
  const { allowsEviction, allowsNoAof } = target
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? ''
  if (!(Number.parseInt(version, 10) >= 7)) {
    throw new StoreError('store-older', `the Redis store needs Redis 7 or later, got ${shown(version)}`)
  }
  if (!allowsEviction && policy !== 'noeviction') {
    throw new StoreError(
      'store-evicting',
      `Redis has maxmemory-policy ${policy ?? 'unknown'}: it may delete timers when its memory is full. ` +
        'Set noeviction, or open the store with ?allow=eviction',
    )
  }
  const hasFile = /^aof_enabled:1/m.test(info)
  if (!allowsNoAof && !hasFile) {
    throw new StoreError(
      'store-volatile',
      'Redis keeps no append-only file: a restart would lose acknowledged timers. ' +
        'Set appendonly yes, or open the store with ?allow=no-aof',
    )
  }
  if (hasFile && flushing !== undefined) checkFlushing(flushing, target)
}

function checkFlushing(
  flushing: NonNullable<ServerReport['flushing']>,
  { allowsNoFsync, allowsNoFsyncOnRewrite }: RedisTarget,
): void {
  if (!allowsNoFsync && flushing.get('appendfsync') === 'no') {
    throw new StoreError(
      'store-volatile',
      'Redis has appendfsync no: a power loss loses what the system has not written yet, often half a minute. ' +
        'Set appendfsync everysec or always, or open the store with ?allow=no-fsync',
    )
  }
  if (!allowsNoFsyncOnRewrite && flushing.get('no-appendfsync-on-rewrite') === 'yes') {
    throw new StoreError(
      'store-volatile',
      'Redis has no-appendfsync-on-rewrite yes: a power loss during a rewrite of its file loses what was written since the rewrite began. ' +
        'Set it to no, or open the store with ?allow=no-fsync-on-rewrite',
    )
  }
}
