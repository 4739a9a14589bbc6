/** An event of an engine. */
export type EngineEvent =
  /** This instance has acquired a shard, and fires its timers from now on. */
  | {
      readonly type: 'acquired'
      readonly shard: number
      readonly epoch: number
      readonly isTakeover: boolean
    }
  /** A shard was released, or lost to another owner: nothing of it fires here any more. */
  | { readonly type: 'released'; readonly shard: number; readonly epoch: number }
  | { readonly type: 'lost'; readonly shard: number; readonly epoch: number; readonly reason: string }
  /**
   * claim: the claim of an attempt was lost, because the timer was replaced or the claim ran out. Nothing follows from the
   * attempt.
   */
  | {
      readonly type: 'lease-lost'
      readonly namespace: string
      readonly kind: string
      readonly key: string
      readonly attempt: number
    }
  /** A call to the store has failed and is retried. */
  | {
      readonly type: 'store-trouble'
      readonly shard: number | undefined
      readonly call: string
      readonly error: Error
    }
  /** A settlement was written. */
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
  /** The governor has shortened the window. */
  | { readonly type: 'window'; readonly shard: number; readonly windowMs: number; readonly inMemory: number }
  /** There are due timers that do not start. */
  | { readonly type: 'stalled'; readonly shard: number; readonly overdueMs: number; readonly reason: string }
  /** A shard has had no owner for this long: nothing of it fires. */
  | { readonly type: 'unowned'; readonly shard: number; readonly forMs: number }
  /** The settled level is this far ahead of the store's clock: that clock was ahead once. */
  | { readonly type: 'level-ahead'; readonly shard: number; readonly aheadMs: number }
  /**
   * claim: rows were claimed while the store's clock was ahead, and nobody renewed the claims. They were cut short, and the
   * rows may be claimed again. The longest claim would have lasted `aheadMs` more.
   */
  | { readonly type: 'lease-ahead'; readonly count: number; readonly aheadMs: number }
  /** This machine's clock is ahead of the store's by this, which is too much: this instance owns no shard. */
  | { readonly type: 'clock-off'; readonly offsetMs: number }

/** A listener for the events of an engine. */
export type OnEvent = (event: EngineEvent) => void
