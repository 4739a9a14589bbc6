import type { Clock } from '../time/index.js'
import type { StoreClaims } from './contract/claims.js'
import type { StoreCluster } from './contract/cluster.js'
import type { StoreInbox } from './contract/inbox.js'
import type { StoreInspection } from './contract/inspection.js'
import type { StoreMail } from './contract/mail.js'
import type { StoreMaintenance } from './contract/maintenance.js'
import type { StoreOwner } from './contract/owner.js'
import type { StoreReading } from './contract/reading.js'
import type { StoreShards } from './contract/shards.js'
import type { StoreTransactions } from './contract/transactions.js'

export type * from './contract/claims.js'
export type * from './contract/cluster.js'
export * from './contract/inbox.js'
export type * from './contract/inspection.js'
export type * from './contract/mail.js'
export type * from './contract/maintenance.js'
export type * from './contract/operation.js'
export type * from './contract/owner.js'
export type * from './contract/reading.js'
export type * from './contract/records.js'
export type * from './contract/shards.js'
export type * from './contract/transaction-connection.js'
export type * from './contract/transactions.js'

/**
 * The contract of every store. A store keeps timers in the order (shard, position, revision), finds them by name, and
 * enforces the store's half of the shard protocol (docs/protocol.md). Each part of the contract is a file of
 * `src/store/contract/`. The memory store is the reference.
 *
 * These rules hold for every call:
 *
 * - **Atomic.** A write happens as a whole or not at all, and readers see it so.
 * - **Batched.** A call takes an array and answers for each item, in the same order.
 * - **Durable.** An acknowledged write survives what the store's section of docs/stores.md says that it survives.
 * - **Checked.** A call that no store should accept rejects as a whole, with an `InvalidInputError` or a `LimitError`.
 *   The functions in `src/store/check/` do this for every store.
 * - **Honest about failure.** Any other rejection is a `StoreError`. After 'fenced', 'inbox-first', 'invalid-level' and
 *   'store-unavailable' nothing has happened. After 'unknown-outcome' the call may have happened, or may still happen
 *   until the fence of the shard changes.
 * - **On one clock.** Leases, deadlines and levels are compared with the store's clock, never with the caller's.
 *
 * Proven for each store by `describeStoreContract` of `carillon/testing` (docs/store-contract.md).
 */
export interface Store
  extends StoreShards, StoreOwner, StoreInbox, StoreClaims, StoreReading, StoreCluster, StoreMail {
  /** Its name in messages: 'memory', 'file', … */
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** Fixed when the store was made. */
  readonly shardCount: number
  readonly mode: StoreMode
  /** Only for stores in whose transactions a handler can write rows of its own. */
  readonly transactions?: StoreTransactions
  /** Only for stores that have no server of their own to back them up. */
  readonly maintenance?: StoreMaintenance
  /** Only for stores that outlive their process. */
  readonly inspection?: StoreInspection
  /** The most bytes that a payload may have. */
  readonly maxPayloadBytes: number
  /** The time by the store's clock, as precise as the store has it, and never ahead of it. */
  now(): Promise<number>
  /** The store's clock, if it is a clock of this process; undefined if it is a server's. */
  readonly clock?: Clock | undefined
  /** Finishes the calls that have begun and frees everything. Later calls reject with 'stopped'. Idempotent. */
  stop(): Promise<void>
}

/**
 * What a store was made for; it is recorded in the store. `owned`: each shard has an owner (the strategies `preload` and
 * `lookahead`). `claim`: shards have no owner, and each due row is leased.
 */
export type StoreMode = 'owned' | 'claim'

/** What a store can do. The engine asks for capabilities, never for the name of a store. */
export interface StoreCapabilities {
  /** Several processes may use it at once. */
  readonly shared: boolean
  /** Acknowledged writes outlive the process. */
  readonly durable: boolean
  /** It can be made for the mode `claim`. */
  readonly claim: boolean
}
