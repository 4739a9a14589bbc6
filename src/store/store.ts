import type { Place, TimerContent, TimerName, TimerProgress, TimerRow } from '../timer/index.js'

/**
 * The contract of every store. A store keeps timers in (shard, position, revision) order, finds them by name,
 * and enforces the rules of the shard protocol that concern it, each write being atomic: wholly there or wholly
 * absent. `describeStoreContract` of `carillon/testing` proves it for a backend.
 *
 * Every write takes many and answers for each. What is acknowledged survives what the store's page in
 * docs/stores.md says it survives. A call rejects with a `StoreError`: 'fenced', 'inbox-first' and
 * 'store-unavailable' mean that nothing happened, 'unknown-outcome' that it may have happened or may still happen until the shard's
 * fence changes. Any other rejection (an `InvalidInputError`, a `LimitError`) refuses the whole call.
 */
export interface Store extends StoreShards, StoreOwner, StoreInbox, StoreClaims, StoreReading, StoreCluster {
  /** What it is called in messages: 'memory', 'file', … */
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** Fixed when the store was made. */
  readonly shardCount: number
  readonly strategy: Strategy
  /** Transactions that settle firings; only stores that have such transactions have it. */
  readonly transactions?: StoreTransactions
  /** Heaviest payload it takes, in bytes. */
  readonly maxPayloadBytes: number
  /** Wall time by the store's clock, the one that leases, deadlines and levels are compared with. */
  now(): Promise<number>
  /** Finishes what was begun and lets go of everything. Calls after it reject with 'stopped'. Idempotent. */
  stop(): Promise<void>
}

/** How timers find their way to memory; recorded when a store is made. `owned` covers preload and look-ahead. */
export type Strategy = 'owned' | 'claim'

/** What a store can do; nobody asks which store it is. */
export interface StoreCapabilities {
  /** Several processes may use it at once. */
  readonly shared: boolean
  /** Acknowledged writes outlive the process. */
  readonly durable: boolean
  /** It can be made with the strategy `claim`. */
  readonly claim: boolean
}

// ---------------------------------------------------------------------------------------------- shards

/** Ownership of a shard: each shard has one row. */
export interface StoreShards {
  shards(): Promise<readonly ShardRow[]>
  /**
   * Takes a shard whose lease is over by the store's clock, or that has no owner: raises the epoch, puts the
   * nonce, and sets the read level back to the settled level, all in one step. Answers the row as it then
   * stands; undefined when somebody else holds it or the epoch was not the expected one. Sent twice with one
   * nonce it is one claim.
   */
  claim(claim: ShardClaim): Promise<ShardRow | undefined>
  /** Prolongs the lease to the store's now + `leaseMs`. */
  renew(fence: Fence, leaseMs: number): Promise<ShardRow>
  /** Raises the epoch under a new nonce and keeps levels and lease, so that writes still under way are refused. */
  refence(fence: Fence, nonce: number, leaseMs: number): Promise<ShardRow>
  /** Lets go: the next owner need not wait for the lease, and need not suspect anything. */
  release(fence: Fence): Promise<void>
}

export interface ShardRow {
  readonly shard: number
  /** Rises with every change of owner or nonce, never goes back. */
  readonly epoch: number
  /** Random, chosen by the owner: two claims of one epoch cannot be mistaken for each other. */
  readonly nonce: number
  /** Empty when nobody owns it. */
  readonly owner: string
  readonly leaseUntil: number
  /** What lies before it is or was in its owner's memory. */
  readonly readLevel: Place
  /** What lies before it is settled: this level is the deletion. */
  readonly settledLevel: Place
  /** The `id` of the last settlement that was committed; 0 before the first. */
  readonly lastSettlement: number
  readonly suspects: Suspects
}

/**
 * Rows that an owner which never let go may have attempted without anybody knowing: those before its read
 * level, written by then, and due by the time it was replaced. A claim after a `release` leaves this as it is;
 * any other sets `before` to the later of itself and the read level, `untilRevision` to the last revision given,
 * and `dueUntil` to the store's now.
 */
export interface Suspects {
  readonly before: Place
  readonly untilRevision: number
  readonly dueUntil: number
}

export interface ShardClaim {
  readonly shard: number
  readonly owner: string
  readonly nonce: number
  readonly leaseMs: number
  /** The epoch the claimer saw. */
  readonly expectedEpoch: number
}

/** What an owner shows with every write. A mismatch rejects with 'fenced' and nothing happens. */
export interface Fence {
  readonly shard: number
  readonly epoch: number
  readonly nonce: number
  /** The highest settled level that was acknowledged to it: a store that stands below it went back in time. */
  readonly settledLevel: Place
}

// ---------------------------------------------------------------------------------------------- the owner

/** What only a shard's owner does, under its fence. */
export interface StoreOwner {
  /**
   * Reads the rows from the read level on, in order, and raises the read level over them, in one step. It ends
   * at `untilExclusive` or where a limit was reached, at least one row later when there is one.
   */
  load(fence: Fence, request: LoadRequest): Promise<Loaded>
  /** Lowers the read level to `to`: the owner has dropped what lies at or after it. */
  lower(fence: Fence, from: Place, to: Place): Promise<void>
  /** Applies operations in order, each answering for itself, all in one step. */
  write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer>
  /** Makes outcomes durable in one step. Refuses, whole, a level above the read level or the store's clock. */
  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer>
  /** Removes rows below the settled level from the disk. Answers whether there is more to remove. */
  sweep(fence: Fence): Promise<{ readonly removed: number; readonly more: boolean }>
}

export interface LoadRequest {
  /** The read level the owner believes in; a store that stands elsewhere rejects with 'fenced'. */
  readonly from: Place
  readonly untilExclusive: number
  readonly limit: number
  readonly limitBytes: number
}

export interface Loaded {
  readonly page: Page
  /** The read level as it stands now. */
  readonly readLevel: Place
  /** No row at or after the read level has an earlier position; undefined when there is none at all. */
  readonly nextPosition: number | undefined
}

/** Rows in order. Columns are kept apart so that a row is only made when it is needed. */
export interface Page {
  readonly size: number
  readonly bytes: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly dueAts: Float64Array
  row(index: number): TimerRow
}

/**
 * What an owner writes. The plain sets of a large call come as a `PlainWrite`: its operations are made when they are
 * asked for, and a store that takes columns finds those instead.
 */
export interface OwnerWrite {
  readonly operations: readonly Operation[]
  /** Only while no request waits in the shard's inbox; otherwise it rejects with 'inbox-first'. */
  readonly ifInboxEmpty?: boolean
  readonly history?: readonly HistoryEntry[]
}

/**
 * A change to one timer. One that answers a request from the inbox carries its id: it is applied only while
 * the request is still there, and takes it away, leaving the answer for the asker until the request's deadline.
 */
export type Operation = SetOperation | MoveOperation | CancelOperation | AnswerOperation

export interface SetOperation extends TimerContent, TimerProgress {
  readonly type: 'set'
  readonly position: number
  /** Only if no timer has this name. */
  readonly ifAbsent?: boolean
  /** Only if the timer of this name stands at this revision. */
  readonly ifRevision?: number
  /** Only if this dead letter, of the same shard, is there, which is taken away: 'unknown' otherwise. */
  readonly fromDead?: string
  readonly note?: HistoryNote
  readonly request?: string
}

export interface MoveOperation extends TimerName {
  readonly type: 'move'
  readonly dueAt: number
  readonly position: number
  /** Only if the timer of this name is this one. */
  readonly identity?: number
  readonly ifRevision?: number
  /** Attempts to record with it, and other details; as before unless given. */
  readonly attempt?: number
  readonly details?: string
  readonly note?: HistoryNote
  readonly request?: string
}

export interface CancelOperation extends TimerName {
  readonly type: 'cancel'
  readonly identity?: number
  readonly ifRevision?: number
  readonly note?: HistoryNote
  readonly request?: string
}

/** Takes a request away without a change, because its owner knows the answer already. */
export interface AnswerOperation {
  readonly type: 'answer'
  readonly request: string
  readonly outcome: 'firing' | 'settled' | 'unknown'
}

export interface WriteAnswer {
  /** One for each operation, in their order. */
  readonly answers: readonly OperationAnswer[]
  /**
   * Where every operation has set a new timer, the revision of the first; those of the others follow one by one. A
   * store may leave it out: it says no more than `answers`, and spares whoever has thousands from looking at each.
   */
  readonly newFrom?: number | undefined
  /** The read level at commit: what was written before it is the owner's to keep in memory. */
  readonly readLevel: Place
}

/** Which life of a name a row belongs to, and where the row stands. */
export interface Standing extends Place {
  readonly identity: number
}

export type OperationAnswer =
  /** Stored. `replaced` is the row whose name it took over. */
  | { readonly outcome: 'set'; readonly place: Place; readonly replaced: Standing | undefined }
  /** The same `set` was stored before; this is where it stands. */
  | { readonly outcome: 'same'; readonly standing: Standing }
  /** The row as it stands now, and where it stood. */
  | { readonly outcome: 'moved'; readonly row: TimerRow; readonly from: Place }
  | { readonly outcome: 'cancelled'; readonly removed: Standing }
  /** `ifAbsent` or `ifRevision` did not hold; nothing was changed. */
  | { readonly outcome: 'conflict'; readonly standing: Standing | undefined }
  /** No timer of this name and identity is there; nothing was changed. */
  | { readonly outcome: 'unknown' }
  /** Too late, by the word of the owner: an attempt is under way, or it is over. */
  | { readonly outcome: 'firing' }
  | { readonly outcome: 'settled' }
  /** Its position lies below the settled level; nothing was changed. */
  | { readonly outcome: 'below-level'; readonly settledLevel: Place }
  /** The request it answers is gone: it was answered before. */
  | { readonly outcome: 'answered-before' }
  /** A move or cancel whose deadline has passed; nothing was changed. */
  | { readonly outcome: 'expired' }

export interface Settlement {
  /** Chosen by the owner, never 0 and never twice; the shard row keeps it, to tell after an unknown outcome. */
  readonly id: number
  /** Everything before it is settled. Never below the settled level. */
  readonly level: Place
  /** How many timers ended, done, between the settled level and `level`: not those named below. */
  readonly settledCount: number
  /** Rows that are done although they lie at or after `level`; each is removed if it still stands. */
  readonly done: readonly TimerRow[]
  /** Retries, next occurrences, carried rows: each rewrites its row if that still stands, else does nothing. */
  readonly followUps: readonly FollowUp[]
  /** Each keeps its row as a dead letter and takes it away or rewrites it, if the row still stands. */
  readonly dead: readonly NewDeadLetter[]
  readonly history: readonly HistoryEntry[]
}

export interface FollowUp extends TimerProgress {
  readonly row: TimerRow
  /** As before unless given. */
  readonly details?: string
  /** Not below `level`. */
  readonly position: number
}

export interface SettleAnswer {
  /** One for each follow-up: the row as it stands now, or undefined when the timer was set, moved or cancelled. */
  readonly followUps: readonly (TimerRow | undefined)[]
  /** One for each dead letter. */
  readonly dead: readonly DeadAnswer[]
  readonly readLevel: Place
}

export interface DeadAnswer {
  /** False when the row no longer stood: then nothing happened. */
  readonly kept: boolean
  /** Where the timer goes on, the row as it stands now; undefined when it does not. */
  readonly next: TimerRow | undefined
}

// ---------------------------------------------------------------------------------------------- the inbox

/** Requests to a shard from those who do not own it. Nobody needs a lock to append. */
export interface StoreInbox {
  /** Answers for each: 'appended' once it is durable, also when it was appended before. */
  append(requests: readonly Request[]): Promise<readonly ('appended' | 'answered-before' | 'expired')[]>
  /**
   * Appends as a part of a transaction of the caller's, given by its connection, and wakes the owners with it: the
   * requests are there if and when that is committed. Only stores that have such transactions have it.
   */
  appendWith?(
    transaction: unknown,
    requests: readonly Request[],
  ): Promise<readonly ('appended' | 'answered-before' | 'expired')[]>
  /** The oldest requests of the shard, in the order of their arrival. They stay until an operation answers them. */
  requests(fence: Fence, limit: number): Promise<readonly Request[]>
  /** What became of them: undefined while unanswered, and after the deadline. */
  answers(shard: number, ids: readonly string[]): Promise<readonly (OperationAnswer['outcome'] | undefined)[]>
}

export interface Request {
  /** Chosen by the asker, so that asking twice is asking once. */
  readonly id: string
  readonly shard: number
  /** By the store's clock. A move or cancel is not applied after it; an answer is kept until then. */
  readonly deadline: number
  readonly operation: RequestedOperation
}

/** As its owner will carry it out; the position is the owner's to say. */
export type RequestedOperation =
  | (Omit<SetOperation, 'position' | 'request'> & { readonly position?: number })
  | Omit<MoveOperation, 'position' | 'request'>
  | Omit<CancelOperation, 'request'>

// ---------------------------------------------------------------------------------------------- claims

/** For stores of the strategy `claim`: no owner, a lease for each due row. Others reject with 'wrong-strategy'. */
export interface StoreClaims {
  /** Leases due rows that nobody holds, earliest first. A row whose lease is over counts one attempt more. */
  claimDue(claim: DueClaim): Promise<readonly ClaimedRow[]>
  /**
   * The earliest position after the store's now, at most `withinMs` after it; undefined when there is none. What
   * is due already does not count, whoever holds it.
   */
  nextDue(query: NextDueQuery): Promise<number | undefined>
  /** Prolongs leases; false for one that is over or whose row is gone. */
  extend(receipts: readonly Receipt[], leaseMs: number): Promise<readonly boolean[]>
  /** Ends leases with an outcome; false where the lease was lost, and nothing happened there. */
  settleClaimed(
    settlements: readonly ClaimSettlement[],
    history: readonly HistoryEntry[],
  ): Promise<readonly boolean[]>
}

/** A kind of a namespace. */
export interface KindName {
  readonly namespace: string
  readonly kind: string
}

export interface DueClaim {
  readonly owner: string
  readonly limit: number
  readonly leaseMs: number
  /** Only these; all when absent. */
  readonly kinds?: readonly KindName[]
}

export interface NextDueQuery {
  readonly withinMs: number
  /** Only these; all when absent. */
  readonly kinds?: readonly KindName[]
}

export interface ClaimedRow {
  readonly row: TimerRow
  readonly receipt: Receipt
  /** Who held it before and let the lease run out: an attempt of theirs may have begun. */
  readonly lostOwner: string | undefined
}

export interface Receipt extends TimerName {
  readonly identity: number
  readonly revision: number
  readonly nonce: number
}

export type ClaimSettlement = {
  readonly receipt: Receipt
  /** What the history gets of the timer, if the lease was still held. */
  readonly notes?: readonly HistoryNote[]
} & (
  | { readonly outcome: 'done' }
  /** Unstarted: it is as if it had never been leased. */
  | { readonly outcome: 'released' }
  | { readonly outcome: 'follow-up'; readonly progress: ClaimProgress }
  | {
      readonly outcome: 'dead'
      readonly reason: string
      readonly diedAt: number
      /** The timer goes on, and has not died: as in `NewDeadLetter`. */
      readonly next?: ClaimProgress
    }
)

/** How the row of a lease goes on; its position is its due time. */
export interface ClaimProgress extends TimerProgress {
  /** As before unless given. */
  readonly details?: string
}

// ---------------------------------------------------------------------------------------------- transactions

/** Transactions in which a handler writes rows of its own and its firing is settled: both, or neither. */
export interface StoreTransactions {
  /** How many there can be at once; whoever begins one more waits. */
  readonly capacity: number
  begin(): Promise<SettlingTransaction>
}

/** One of them. It ends once; calls after its end reject with 'transaction-over'. */
export interface SettlingTransaction {
  /** What its writer sends statements by. */
  readonly connection: unknown
  /** As `settleClaimed` of the store, of one lease. What rejects did not happen. */
  settleClaimed(settlement: ClaimSettlement): Promise<boolean>
  /** As `settle` of the store. What rejects did not happen. */
  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer>
  /** Rejects with 'unknown-outcome' when it may have been committed; any other rejection undid it. */
  commit(): Promise<void>
  /** Undoes it. Never rejects; does nothing after the end. */
  rollback(): Promise<void>
  /** Undoes it at once, whatever is still under way by its connection. */
  abandon(): void
}

// ---------------------------------------------------------------------------------------------- reading

/** What anybody may read. Rows below the settled level are never seen. */
export interface StoreReading {
  /** The timers of these names, in their order. */
  find(names: readonly TimerName[]): Promise<readonly (TimerRow | undefined)[]>
  /** Rows in the order of shard and place. A page may be short, even empty, while its cursor goes on. */
  list(query: ListQuery): Promise<Listed<TimerRow>>
  /** How many rows are due in each slice of [fromInclusive, untilExclusive). */
  histogram(query: HistogramQuery): Promise<readonly number[]>
  /** Since the store was made: created = pending + settled + cancelled + replaced + dead. */
  counts(): Promise<Counts>
  /** Looks at every row: how many there are. */
  countRows(): Promise<number>
  /** Looks at every row: for each shard, or for all at once where a store does not count by shard. */
  tallies(): Promise<readonly Tally[]>
  /** Looks at every row: how many a namespace has, and what their payloads weigh. */
  usage(namespace: string): Promise<Usage>
  deadLetters(query: DeadQuery): Promise<Listed<DeadLetter>>
  /** Takes dead letters away; false for one that is not there. */
  removeDead(ids: readonly string[]): Promise<readonly boolean[]>
  history(query: HistoryQuery): Promise<Listed<HistoryEntry>>
  /** Drops history before an instant. Answers how many entries went. */
  pruneHistory(beforeExclusive: number): Promise<number>
}

export interface Listed<Item> {
  readonly items: readonly Item[]
  /** Give it to the next call; undefined at the end. */
  readonly cursor: string | undefined
}

export interface PageQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  /** Stop looking after this long, with what was found. */
  readonly budgetMs?: number
}

export interface TimerFilter {
  readonly namespace: string
  readonly kind?: string
  readonly keyPrefix?: string
  readonly tag?: string
  readonly dueFromInclusive?: number
  readonly dueUntilExclusive?: number
}

export interface ListQuery extends TimerFilter, PageQuery {}

export interface HistogramQuery {
  readonly namespace?: string
  readonly kind?: string
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly sliceMs: number
}

export interface Counts {
  readonly created: number
  readonly settled: number
  readonly cancelled: number
  readonly replaced: number
  readonly dead: number
}

/** What the counters of a shard say, and how many rows it has: while nothing is written, both agree. */
export interface Tally {
  /** Undefined when it is of the whole store. */
  readonly shard: number | undefined
  readonly counts: Counts
  readonly rows: number
}

/** What the timers of a namespace take. */
export interface Usage {
  readonly timers: number
  /** Of their payloads. */
  readonly bytes: number
}

export interface NewDeadLetter {
  readonly row: TimerRow
  readonly diedAt: number
  readonly reason: string
  /**
   * The timer goes on: its row is rewritten as a follow-up's would be, in the same write. Without it the row is
   * taken away. A timer that goes on has not ended, and is not counted as dead.
   */
  readonly next?: Omit<FollowUp, 'row'>
}

/** A row as it stood when it, or one occurrence of it, was given up. */
export interface DeadLetter extends Omit<NewDeadLetter, 'next'> {
  readonly id: string
}

export interface DeadQuery extends PageQuery {
  readonly namespace: string
  readonly kind?: string
  readonly key?: string
}

/** What an operation leaves in the history of its timer, if it changed anything. */
export interface HistoryNote {
  readonly at: number
  /** What happened: 'created', 'moved', 'attempt', 'settled', … */
  readonly event: string
  /** As text, for whoever wrote it. */
  readonly details: string
}

/** Something that happened to a timer. */
export interface HistoryEntry extends TimerName, HistoryNote {
  readonly identity: number
}

export interface HistoryQuery extends PageQuery {
  readonly namespace: string
  readonly kind?: string
  readonly key?: string
  readonly fromInclusive?: number
  readonly untilExclusive?: number
}

// ---------------------------------------------------------------------------------------------- cluster

export interface StoreCluster {
  /** Registers or refreshes a member, and answers the store's time with all whose heartbeat is not over. */
  heartbeat(
    member: Member,
    ttlMs: number,
  ): Promise<{ readonly now: number; readonly members: readonly Member[] }>
  leave(id: string): Promise<void>
  settings(prefix: string): Promise<readonly Setting[]>
  /** Puts a setting (undefined removes it) if it stands at `ifVersion` (0: absent). Answers its version, or undefined. */
  putSetting(name: string, value: string | undefined, ifVersion?: number): Promise<number | undefined>
  /** Tells those who listen that there is something new for the shard. May get lost; never rejects. */
  wake(shard: number): void
  /** Listens for wake-ups until the answer is called. */
  onWake(listener: (shard: number) => void): () => void
}

export interface Member {
  readonly id: string
  /** As text, for whoever reads it: address, version. */
  readonly details: string
}

export interface Setting {
  readonly name: string
  readonly value: string
  readonly version: number
}
