import type { EngineCounts } from './counts.js'
import type { KindView } from './fire/kind-view.js'
import type { UnhandledKind } from './offer/unhandled-kinds.js'

/** The current state of one shard. */
export interface ShardView {
  readonly shard: number
  readonly epoch: number
  /** Rows in memory, and about how many bytes they take. */
  readonly inMemory: number
  readonly bytes: number
  /** Attempts under way. */
  readonly inFlight: number
  /** Operations that wait to be written. */
  readonly queued: number
  /** How far ahead of now timers are loaded, and up to which position they are. */
  readonly windowMs: number
  readonly readPosition: number
  /** How far loading is behind, counted from the acquisition of the shard; 0 while it is ahead. */
  readonly behindMs: number
  /** When the next load is planned. */
  readonly nextLoadAt: number
  /** The position of the settled level. */
  readonly settledPosition: number
  readonly isLeased: boolean
}

/** The current state of an instance. */
export interface EngineStats {
  readonly memberId: string
  readonly strategy: string
  readonly shards: readonly ShardView[]
  /** How far this machine's clock is ahead of the store's, and whether that is too much to fire timers. */
  readonly clockOffsetMs: number
  readonly isClockOff: boolean
  /** Shards that nobody owns, as far as this instance has seen, and for how long. */
  readonly unowned: readonly { readonly shard: number; readonly forMs: number }[]
  /** Kinds of due timers in its shards that no instance handles, and how many timers wait for that reason. */
  readonly unhandled: readonly UnhandledKind[]
  /** The kinds of which this instance has had a due timer. */
  readonly kinds: readonly KindView[]
  /** Since this instance was opened, over all shards that it has owned. */
  readonly counts: EngineCounts
}
