import { hostname } from 'node:os'
import type { EngineStats } from '../../engine/index.js'
import { version } from '../version.js'

/** What an instance says of itself. */
export interface InstanceHere {
  readonly version: string
  readonly host: string
  readonly upSince: number
  readonly clockOffsetMs: number
  readonly memoryBytes: number
  /** Why it is not ready. Empty if it is. */
  readonly faults: readonly string[]
  readonly shards: readonly {
    readonly shard: number
    readonly inMemory: number
    readonly inFlight: number
    readonly queued: number
    readonly windowMs: number
    readonly behindMs: number
  }[]
}

export function instanceHere(
  { shards, clockOffsetMs }: EngineStats,
  upSince: number,
  faults: readonly string[],
): InstanceHere {
  return {
    version,
    host: hostname(),
    upSince,
    clockOffsetMs,
    memoryBytes: process.memoryUsage.rss(),
    faults,
    shards: shards.map(({ shard, inMemory, inFlight, queued, windowMs, behindMs }) => ({
      shard,
      inMemory,
      inFlight,
      queued,
      windowMs,
      behindMs,
    })),
  }
}
