import type { Place } from '../../timer/index.js'

/**
 * Ownership of shards. A store keeps one row for each shard and changes it atomically.
 * `src/store/shard-row.ts` has these rules as pure functions, for stores that keep the row as a value.
 */
export interface StoreShards {
  /** The rows of all shards; the row of shard n is at index n. */
  shards(): Promise<readonly ShardRow[]>
  /**
   * Takes a shard that has no owner, or whose lease is over by the store's clock. In one step it raises the epoch,
   * stores owner and nonce, and sets the read level back to the settled level.
   *
   * Answers the new row. Answers undefined, and changes nothing, when another owner has the shard or the epoch is
   * not the expected one. A request that is sent twice with the same nonce is applied once and gets the row both times.
   */
  acquire(request: AcquireRequest): Promise<ShardRow | undefined>
  /** Sets the end of the lease to the store's now + `leaseMs`. */
  renew(fence: Fence, leaseMs: number): Promise<ShardRow>
  /**
   * Raises the epoch under a new nonce and renews the lease; the levels stay. From then on the store refuses the calls
   * that are still on their way with the old fence. Sent twice with the same nonce, it raises the epoch once.
   */
  refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow>
  /** Gives the shard up. The next owner need not wait for the lease to end, and no row becomes a suspect. */
  release(fence: Fence): Promise<void>
}

/** The record of a shard: its owner, fence and levels. */
export interface ShardRow {
  readonly shard: number
  /** Rises with every change of owner or nonce. Never falls. */
  readonly epoch: number
  /** A random number that the owner chooses. It tells two requests for the same epoch apart. */
  readonly nonce: number
  /** The id of the owner; empty when the shard has none. */
  readonly owner: string
  /** When the lease ends, by the store's clock. It says nothing while the shard has no owner. */
  readonly leaseUntil: number
  /** Every unsettled row below it is in the owner's memory, or was in that of the last owner. */
  readonly readLevel: Place
  /** Every row below it is finished and invisible. The level is the deletion: the bytes go later, by `sweep`. */
  readonly settledLevel: Place
  /**
   * Bounds the search for rows whose position is later than their due time. Such a row is before this position, or
   * below the read level, or at the position of the settled level.
   *
   * It never falls. `acquire` and `lower` raise it to the read level that they replace. A settlement raises it above
   * every follow-up whose position is later than its due time.
   */
  readonly lateBefore: number
  /** The `id` of the last committed settlement; 0 before the first. */
  readonly lastSettlement: number
  readonly suspects: Suspects
}

/**
 * Which rows a lost owner may have attempted without a record of it: those before its read level, written by then, and
 * due by the end of its lease.
 *
 * `acquire` after a `release` leaves this as it is. Any other `acquire` sets `before` to the later of `before` and the
 * read level, `untilRevision` to the last revision of the shard, and `dueUntil` to the end of the last owner's lease. If
 * the store knows that the owner died before that end, `dueUntil` is the earliest time that the store knows of.
 */
export interface Suspects {
  readonly before: Place
  readonly untilRevision: number
  readonly dueUntil: number
}

/** Which shard to acquire, for whom, and for how long. */
export interface AcquireRequest {
  readonly shard: number
  readonly owner: string
  readonly nonce: number
  readonly leaseMs: number
  /** The epoch that the caller read from the shard row. */
  readonly expectedEpoch: number
}

/**
 * An owner's proof that it still owns the shard. The store compares it with the shard row in the same atomic step as
 * the call. A mismatch rejects with 'fenced', and nothing happens.
 */
export interface Fence {
  readonly shard: number
  readonly epoch: number
  readonly nonce: number
  /**
   * The highest settled level that the store has acknowledged to this owner. A store whose level is below it has lost
   * acknowledged writes (for example, it was restored from a backup), so it must refuse the call.
   */
  readonly settledLevel: Place
}
