import type { EngineCounts } from './engine-counts.js'

/** One shard as it is now. */
export interface ShardView {
  readonly shard: number
  readonly epoch: number
  /** Rows in memory, and about what they take. */
  readonly inMemory: number
  readonly bytes: number
  /** Attempts under way. */
  readonly inFlight: number
  /** Operations that wait to be written. */
  readonly queued: number
  /** How far ahead of now timers are loaded, and up to where they were; when the next load is planned. */
  readonly windowMs: number
  readonly readPosition: number
  /** How long this instance has had the shard without reading what was due; 0 while it reads ahead. */
  readonly behindMs: number
  readonly nextLoadAt: number
  /** Everything before it is settled. */
  readonly settledPosition: number
  readonly isLeased: boolean
}

/** An instance as it is now. */
export interface EngineStats {
  readonly memberId: string
  readonly strategy: string
  readonly shards: readonly ShardView[]
  /** Since this instance was opened, over all shards it had. */
  readonly counts: EngineCounts
}
