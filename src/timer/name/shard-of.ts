import type { TimerName } from '../timer-row.js'

/** The shard of a timer, out of `shardCount`. It is part of every store's format: the result must never change. */
export function shardOf(name: TimerName, shardCount: number): number {
  if (shardCount === 1) return 0
  return nameHash(name) % shardCount
}

/** A hash of a name, from 0 to 2^32 - 1. It is part of the format of stores: the result must never change. */
export function nameHash(name: TimerName): number {
  return mixed(absorbed(scopeHash(name), name.key))
}

/** Like `shardOf`, for many keys of one kind. */
export function shardsOf(
  scope: Omit<TimerName, 'key'>,
  keys: readonly string[],
  shardCount: number,
): Uint16Array {
  const shards = new Uint16Array(keys.length)
  if (shardCount === 1) return shards
  const hash = scopeHash(scope)
  for (let index = 0; index < keys.length; index++) {
    shards[index] = mixed(absorbed(hash, keys[index]!)) % shardCount
  }
  return shards
}

function scopeHash({ namespace, kind }: Omit<TimerName, 'key'>): number {
  return absorbed(absorbed(0x811c_9dc5, namespace), kind)
}

/** FNV-1a over UTF-16 code units. It includes the length, so that ('ab', 'c') differs from ('a', 'bc'). */
function absorbed(hash: number, text: string): number {
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x0100_0193)
  }
  return Math.imul(hash ^ text.length, 0x0100_0193)
}

/** The low bits of FNV-1a are uneven: mix them before taking a remainder. */
function mixed(hash: number): number {
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85eb_ca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
