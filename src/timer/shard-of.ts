import type { TimerName } from './timer-row.js'

/**
 * Which of `shardCount` shards a timer lives in. Part of every store's format: it must answer the same for ever.
 */
export function shardOf(name: TimerName, shardCount: number): number {
  if (shardCount === 1) return 0
  const hash = mixed(absorbed(absorbed(absorbed(0x811c_9dc5, name.namespace), name.kind), name.key))
  return hash % shardCount
}

/** FNV-1a over UTF-16 code units; the length goes in too, so that ('ab', 'c') is not ('a', 'bc'). */
function absorbed(hash: number, text: string): number {
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x0100_0193)
  }
  return Math.imul(hash ^ text.length, 0x0100_0193)
}

/** FNV-1a leaves its low bits uneven: mix them before taking a remainder. */
function mixed(hash: number): number {
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85eb_ca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
