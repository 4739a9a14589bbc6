import { shown, StoreError } from '../../error/index.js'
import type { Strategy } from '../store.js'
import { shardKey, storeKey } from './keys.js'
import type { RedisNodes } from './nodes.js'
import { replyCodeOf } from './redis-error.js'
import type { RedisTarget } from './redis-url.js'
import { Script } from './script.js'
import { formatLua, hinderedLua, upgradedLua } from './scripts/shared.lua.js'
import { upgradeLua } from './scripts/upgrade.lua.js'

/** What a store is, written when it is made and never changed but by an upgrade. */
export interface RedisFormat {
  readonly shardCount: number
  readonly strategy: Strategy
  readonly bucketMs: number
}

export const FORMAT_VERSION = 3
const formatScript = Script.writing(formatLua)
const upgradeScript = Script.writing(upgradeLua)
const upgradedScript = Script.writing(upgradedLua)
const hinderedScript = Script.reading(hinderedLua)

/** Reads what the store is, or makes it: of many who come at once, one does. */
export async function takeFormat(
  nodes: RedisNodes,
  wanted: Omit<RedisFormat, 'strategy'> & { readonly strategy: Strategy | undefined },
): Promise<RedisFormat> {
  const key = storeKey(nodes.target.prefix)
  const words = [
    '',
    String(FORMAT_VERSION),
    String(wanted.shardCount),
    wanted.strategy ?? 'owned',
    String(wanted.bucketMs),
  ]
  const reply = await formatScript.run(nodes, key, words).catch(foreign)
  const [format, version, shards, strategy, width] = (reply as (Buffer | null)[]).map((text) =>
    String(text ?? ''),
  )
  if (format !== 'carillon' || !(Number(version) >= 1)) {
    throw new StoreError('store-foreign', `the key ${key} holds something that Carillon did not write`)
  }
  if (Number(version) > FORMAT_VERSION) {
    throw new StoreError(
      'store-newer',
      `the store ${nodes.target.prefix} has layout version ${version}; this version of Carillon knows ${FORMAT_VERSION}`,
    )
  }
  if (wanted.strategy !== undefined && wanted.strategy !== strategy) {
    throw new StoreError(
      'wrong-strategy',
      `the store ${nodes.target.prefix} was made for the strategy ${strategy}, asked was ${wanted.strategy}: open it as ${strategy}, or export its timers into a store of another prefix`,
    )
  }
  const found = { shardCount: Number(shards), strategy: strategy as Strategy, bucketMs: Number(width) }
  if (Number.isInteger(found.shardCount) && found.shardCount > 0 && found.bucketMs > 0) {
    if (Number(version) < FORMAT_VERSION) await upgrade(nodes, found.shardCount)
    return found
  }
  throw new StoreError('store-damaged', `the key ${key} says ${shown(shards)} shards of ${shown(width)} ms`)
}

/**
 * Shard by shard, and the version last: whoever is interrupted, or comes meanwhile, does it again. Refused while an
 * instance is alive: it knows the older layout only, and what it acknowledged from then on nobody would find.
 */
async function upgrade(nodes: RedisNodes, shardCount: number): Promise<void> {
  const { prefix } = nodes.target
  const alive = Number(await hinderedScript.run(nodes, storeKey(prefix), ['', String(FORMAT_VERSION)]))
  if (alive > 0) {
    throw new StoreError(
      'store-in-use',
      `the store ${prefix} has an older layout, and ${alive} instances that know no other are alive: stop them, then this one brings it to layout ${FORMAT_VERSION}`,
    )
  }
  await Promise.all(
    Array.from({ length: shardCount }, (_, shard) => upgradeScript.run(nodes, shardKey(prefix, shard), [''])),
  )
  await upgradedScript.run(nodes, storeKey(prefix), ['', String(FORMAT_VERSION)])
}

function foreign(error: unknown): never {
  if (error instanceof Error && replyCodeOf(error.cause) === 'WRONGTYPE') {
    throw new StoreError(
      'store-foreign',
      'the key of the store holds something that Carillon did not write',
      {
        cause: error,
      },
    )
  }
  throw error
}

/** Refuses a server that may forget what it acknowledged, unless the URL allows it; `info` is what it says of itself. */
export function checkServer(info: string, { allowsEviction, allowsNoAof }: RedisTarget): void {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? ''
  if (!(Number.parseInt(version, 10) >= 7)) {
    throw new StoreError(
      'store-older',
      `the Redis store needs Redis 7 or later, this one is ${shown(version)}`,
    )
  }
  if (!allowsEviction && policy !== 'noeviction') {
    throw new StoreError(
      'store-evicting',
      `Redis has maxmemory-policy ${policy ?? 'unknown'}: it may throw timers away when its memory is full. ` +
        'Set noeviction, or open the store with ?allow=eviction',
    )
  }
  if (!allowsNoAof && !/^aof_enabled:1/m.test(info)) {
    throw new StoreError(
      'store-volatile',
      'Redis keeps no append-only file: acknowledged timers would be gone after a restart. ' +
        'Set appendonly yes, or open the store with ?allow=no-aof',
    )
  }
}
