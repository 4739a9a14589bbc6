/** What an engine tells whoever listens. */
export type EngineEvent =
  /** A shard is ours and fires from now on. */
  | {
      readonly type: 'acquired'
      readonly shard: number
      readonly epoch: number
      readonly isTakeover: boolean
    }
  /** A shard was let go, or lost to another owner: nothing of it fires here any more. */
  | { readonly type: 'released'; readonly shard: number; readonly epoch: number }
  | { readonly type: 'lost'; readonly shard: number; readonly epoch: number; readonly reason: string }
  /**
   * claim: the lease of an attempt was lost, because the timer was set anew or the lease ran out; what came of the
   * attempt was not followed.
   */
  | {
      readonly type: 'lease-lost'
      readonly namespace: string
      readonly kind: string
      readonly key: string
      readonly attempt: number
    }
  /** A call to the store failed and is tried again. */
  | {
      readonly type: 'store-trouble'
      readonly shard: number | undefined
      readonly call: string
      readonly error: Error
    }
  /** A level was settled. */
  | { readonly type: 'settled'; readonly shard: number; readonly position: number; readonly count: number }
  /** Rows below the settled level were removed. */
  | { readonly type: 'swept'; readonly shard: number; readonly removed: number }
  /** Timers were loaded up to `until`; the next load is planned for `nextLoadAt`. */
  | {
      readonly type: 'loaded'
      readonly shard: number
      readonly count: number
      readonly until: number
      readonly nextLoadAt: number
    }
  /** The governor changed the window. */
  | { readonly type: 'window'; readonly shard: number; readonly windowMs: number; readonly inMemory: number }
  /** Due timers exist and do not start. */
  | { readonly type: 'stalled'; readonly shard: number; readonly overdueMs: number; readonly reason: string }
  /** The machine's clock differs too much from the store's: no shard is claimed. */
  | { readonly type: 'clock-off'; readonly offsetMs: number }

export type OnEvent = (event: EngineEvent) => void
