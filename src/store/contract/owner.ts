import type { Place, TimerProgress, TimerRow } from '../../timer/index.js'
import type { Operation, OperationAnswer } from './operation.js'
import type { HistoryEntry, NewDeadLetter } from './records.js'
import type { Fence } from './shards.js'

/** What only the owner of a shard does. Every call shows its fence, and each is one atomic step. */
export interface StoreOwner {
  /**
   * Reads rows in order, from the read level on, and raises the read level to the end of what it read. It stops at
   * `untilExclusive`, or once a limit is reached. It reads at least one row if there is one, whatever `limitBytes` is.
   */
  load(fence: Fence, request: LoadRequest): Promise<Loaded>
  /**
   * Lowers the read level from `from` to `to`: the owner has dropped the rows at or after `to` from memory. A store
   * whose read level is not `from` rejects with 'fenced'.
   */
  lower(fence: Fence, from: Place, to: Place): Promise<void>
  /**
   * Applies operations in order; each has its own answer. All of them are committed in one step. A store of the mode
   * `claim` has no owners: there, `fence` is undefined.
   */
  write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer>
  /**
   * Makes outcomes durable. Rejects with 'invalid-level', and changes nothing, when the level falls, or rises above the
   * read level or the store's clock, or when a follow-up is below the level.
   */
  settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer>
  /**
   * Deletes the bytes of finished rows, and what replaced rows have left behind. With `below`, only finished rows before
   * that place, and about as many. One call may delete a part: `more` says whether rows are left.
   */
  sweep(fence: Fence, below?: Place): Promise<Swept>
}

/** What a sweep removed, and whether more is left. */
export interface Swept {
  /** How many finished rows were deleted. */
  readonly removed: number
  readonly more: boolean
}

/** How far to load, and how much at most. */
export interface LoadRequest {
  /** The read level as the owner knows it. A store whose read level is another rejects with 'fenced'. */
  readonly from: Place
  readonly untilExclusive: number
  /** The most rows to read. */
  readonly limit: number
  /** Stop once the rows weigh this much, by the store's own estimate. */
  readonly limitBytes: number
}

/** The rows of one load, and the read level after it. */
export interface Loaded {
  readonly page: RowPage
  /** The read level after the load. */
  readonly readLevel: Place
  /** A lower bound of the positions at or after the read level; undefined when no row is there. */
  readonly nextPosition: number | undefined
}

/**
 * Rows in the order of their places. The columns that the engine needs for every row are arrays; the rest of a row is
 * decoded only when `row` is called.
 */
export interface RowPage {
  readonly size: number
  /** About how much memory the rows need. */
  readonly bytes: number
  readonly positions: Float64Array
  readonly revisions: Float64Array
  readonly dueAts: Float64Array
  row(index: number): TimerRow
}

/**
 * A batch of operations. The plain sets of a large call arrive as a `SetColumnsWrite`. That class makes its `operations`
 * on demand, so a store that reads its columns instead avoids an object for each timer. A store may ignore the
 * difference.
 */
export interface OwnerWrite {
  readonly operations: readonly Operation[]
  /** Reject with 'inbox-first', and change nothing, while a request is in the shard's inbox. */
  readonly ifInboxEmpty?: boolean
  /** Entries to add whatever the operations answer. Notes of the operations themselves are in `note`. */
  readonly history?: readonly HistoryEntry[]
}

/** The answer to a write. */
export interface WriteAnswer {
  /** One for each operation, in the same order. */
  readonly answers: readonly OperationAnswer[]
  /**
   * If every operation stored a new timer and their revisions are consecutive: the first revision. It adds nothing to
   * `answers`, but spares a caller with thousands of sets from reading each. A store may always leave it out.
   */
  readonly newFrom?: number | undefined
  /** The read level at commit. The owner must keep the rows that were written below it in memory. */
  readonly readLevel: Place
}

/**
 * The outcomes of one shard, in one atomic write. A row "is unchanged" if its name still has the revision that the
 * owner read. If not, the timer was set, moved or cancelled meanwhile, and the settlement does not touch it.
 */
export interface Settlement {
  /** Chosen by the owner: never 0, never used twice. The shard row keeps it, to look up after an unknown outcome. */
  readonly id: number
  /** The new settled level: every row before it is finished. It never falls. */
  readonly level: Place
  /** How many timers ended as done by the rise of the level. Rows in `done` are not included. */
  readonly settledCount: number
  /**
   * Finished rows at or after `level`. Each is put just below the level if it is unchanged, so that `findSettled` finds
   * it until it is swept. Below a level at position 0 there is no place: then it is removed.
   */
  readonly done: readonly TimerRow[]
  /** Retries, next occurrences and carried rows. Each rewrites its row if that is unchanged. */
  readonly followUps: readonly FollowUp[]
  /** Each stores its row as a dead letter, and removes or rewrites the row, if that is unchanged. */
  readonly dead: readonly NewDeadLetter[]
  readonly history: readonly HistoryEntry[]
}

/** How an unfinished timer continues: the same row with other progress, at another position, with a new revision. */
export interface FollowUp extends TimerProgress {
  /** The row as the owner read it. */
  readonly row: TimerRow
  /** The row keeps its details unless these are given. */
  readonly details?: string
  /** Not below the settlement's `level`. */
  readonly position: number
}

/** The answer to a settlement. */
export interface SettleAnswer {
  /** One for each follow-up: the new row, or undefined when the old row had changed. */
  readonly followUps: readonly (TimerRow | undefined)[]
  /** One for each dead letter. */
  readonly dead: readonly DeadAnswer[]
  /** The read level at commit. */
  readonly readLevel: Place
}

/** What became of a dead letter of a settlement. */
export interface DeadAnswer {
  /** False when the row had changed: then nothing happened. */
  readonly kept: boolean
  /** The new row of a timer that goes on; undefined when the timer ended or nothing happened. */
  readonly next: TimerRow | undefined
}
