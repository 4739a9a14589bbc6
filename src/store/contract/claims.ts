import type { TimerName, TimerProgress, TimerRow } from '../../timer/index.js'
import type { HistoryEntry, HistoryNote } from './records.js'

/**
 * Row claims, for stores of the mode `claim`: shards have no owners, and each due row is leased on its own. Stores of
 * the mode `owned` reject these calls with 'wrong-strategy'.
 */
export interface StoreClaims {
  /**
   * Leases due rows that nobody has leased, earliest first. If an earlier lease of the row ran out, the row counts one
   * attempt more, of unknown outcome.
   */
  claimDue(claim: DueClaim): Promise<readonly ClaimedRow[]>
  /**
   * The earliest position after the store's now and at most `withinMs` later; undefined when there is none. Rows that
   * are due already do not count, whether they are leased or not.
   */
  nextDue(query: NextDueQuery): Promise<number | undefined>
  /** Sets the end of leases to the store's now + `leaseMs`. False where the lease is over or the row is gone. */
  extend(tokens: readonly ClaimToken[], leaseMs: number): Promise<readonly boolean[]>
  /**
   * Leases of due rows that end later than the store's now + `beyondMs`, those of the earliest rows first. A store's
   * clock that was ahead and was set back leaves such leases behind.
   */
  longLeases(query: LongLeaseQuery): Promise<readonly LongLease[]>
  /**
   * Ends leases now, as if they had run out. False where the lease has changed since it was read; that one stays. A
   * store may also answer false for a row that another call is changing at the same time.
   */
  cutShort(leases: readonly LongLease[]): Promise<readonly boolean[]>
  /** Ends leases with an outcome. False where the lease was lost: then nothing happened to that row. */
  settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<readonly boolean[]>
}

/** A kind within a namespace. */
export interface KindName {
  readonly namespace: string
  readonly kind: string
}

/** Which due rows to claim, how many, and for how long. */
export interface DueClaim {
  readonly owner: string
  readonly limit: number
  readonly leaseMs: number
  /** Only timers of these kinds; all when absent. */
  readonly kinds?: readonly KindName[]
}

/** For which timers to find the next due time. */
export interface NextDueQuery {
  readonly withinMs: number
  /** Only timers of these kinds; all when absent. */
  readonly kinds?: readonly KindName[]
}

/** A due row with its claim. */
export interface ClaimedRow {
  readonly row: TimerRow
  readonly token: ClaimToken
  /** Who had the lease that ran out. Its attempt may have started. */
  readonly lostOwner: string | undefined
}

/** Proves a lease: the version of the row, and a number that is unique to the lease. */
export interface ClaimToken extends TimerName {
  readonly identity: number
  readonly revision: number
  readonly nonce: number
}

/** Which claims to list: those that last long. */
export interface LongLeaseQuery {
  readonly beyondMs: number
  readonly limit: number
}

/** A lease of any owner, as `longLeases` read it. */
export interface LongLease extends ClaimToken {
  readonly until: number
}

/** What becomes of a claimed row, and the claim that proves it. */
export type ClaimSettlement = {
  readonly token: ClaimToken
  /** Added to the timer's history if the lease was still held. */
  readonly notes?: readonly HistoryNote[]
} & (
  | { readonly outcome: 'done' }
  /** The attempt did not start. The row is as if it had never been claimed. */
  | { readonly outcome: 'released' }
  | { readonly outcome: 'follow-up'; readonly progress: ClaimProgress }
  | {
      readonly outcome: 'dead'
      readonly reason: string
      readonly diedAt: number
      /** The timer goes on and is not counted as dead, as in `NewDeadLetter`. */
      readonly next?: ClaimProgress
    }
)

/** How a claimed row continues. Its position is its due time. */
export interface ClaimProgress extends TimerProgress {
  /** The row keeps its details unless these are given. */
  readonly details?: string
}
