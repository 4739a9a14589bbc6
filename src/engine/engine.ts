import type { Clock } from '../time/index.js'
import type { RequestedOperation, Standing, Store } from '../store/index.js'
import type { Failure, OnEvent } from './event.js'
import type { Deliver } from './firing.js'
import type { EngineSettings } from './settings.js'

export interface EngineOptions {
  readonly store: Store
  readonly clock: Clock
  readonly deliver: Deliver
  /** From 0 to 1, as `Math.random`; a simulation gives its own. */
  readonly random?: () => number
  /** What this instance is called among the members. Random unless given. */
  readonly memberId?: string
  readonly settings?: Partial<EngineSettings>
  /** Attempts at once for a kind; 0 while it has no handler. Default: the setting `concurrency`. */
  readonly concurrencyOf?: (namespace: string, kind: string) => number
  /** Claim every shard at `open`, whoever else is a member: for a store that nobody shares. */
  readonly holdsAll?: boolean
  readonly onEvent?: OnEvent
}

/** What became of an operation. */
export type Answer =
  | { readonly outcome: 'set'; readonly revision: number; readonly replaced: Standing | undefined }
  /** Acknowledged: it is in the inbox of its shard's owner. */
  | { readonly outcome: 'appended' }
  | { readonly outcome: 'moved'; readonly revision: number }
  | { readonly outcome: 'cancelled' }
  /** Too late: an attempt is under way, and nothing was changed. */
  | { readonly outcome: 'firing' }
  | { readonly outcome: 'conflict'; readonly standing: Standing | undefined }
  | { readonly outcome: 'unknown' }
  | Failure

/** One instance of the engine; see docs/engine.md. */
export interface EngineFace {
  /** Joins the members; with `holdsAll` claims every shard, without firing yet. */
  open(): Promise<void>
  /** Claims its share of the shards and fires from now on. Opens first where that was not done. */
  start(): Promise<void>
  /** Finishes attempts under way (bounded), settles, lets go of its shards, leaves. Idempotent. */
  stop(): Promise<void>
  /** Carries out operations, here or by their shard's owner; one answer each. Never rejects for one of them. */
  submit(operations: readonly RequestedOperation[]): Promise<readonly Answer[]>
}
