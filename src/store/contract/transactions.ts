import type { ClaimSettlement } from './claims.js'
import type { SettleAnswer, Settlement } from './owner.js'
import type { Fence } from './shards.js'

/** Transactions that settle a firing together with the handler's own writes: both are committed, or neither. */
export interface StoreTransactions {
  /** How many can be open at once. `begin` waits while that many are. */
  readonly capacity: number
  begin(): Promise<SettlingTransaction>
}

/** It ends once, by `commit`, `rollback` or `abandon`. Later calls reject with 'transaction-over'. */
export interface SettlingTransaction {
  /** The handler sends its statements over it. */
  readonly connection: unknown
  /** As `settleClaimed` of the store, for one lease. A rejection means that nothing happened. */
  settleClaimed(settlement: ClaimSettlement): Promise<boolean>
  /** As `settle` of the store. A rejection means that nothing happened. */
  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer>
  /** Rejects with 'unknown-outcome' when the commit may have happened. After any other rejection it did not. */
  commit(): Promise<void>
  /** Undoes it. Never rejects; does nothing after the end. */
  rollback(): Promise<void>
  /** Undoes it at once, without waiting for statements that are still running. */
  abandon(): void
}
