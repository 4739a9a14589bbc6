import type { Place, TimerContent, TimerName, TimerProgress, TimerRow } from '../../timer/index.js'
import type { HistoryNote } from './records.js'

/**
 * A change to one timer. With `request`, it carries out that request of the inbox: the store applies it only while the
 * request is still there, and removes the request in the same step. The store keeps the outcome for the caller until
 * the request's deadline.
 */
export type Operation = SetOperation | MoveOperation | CancelOperation | AnswerOperation

/** Stores a timer. It replaces the timer of the same name, unless a condition forbids that. */
export interface SetOperation extends TimerContent, TimerProgress {
  readonly type: 'set'
  readonly position: number
  /** Only if no timer has this name; 'conflict' otherwise. */
  readonly ifAbsent?: boolean
  /** Only if the timer of this name has this revision; 'conflict' otherwise. */
  readonly ifRevision?: number
  /** The id of a dead letter of the same shard, which the set removes. 'unknown' when it is not there. */
  readonly fromDead?: string
  readonly note?: HistoryNote
  readonly request?: string
}

/** Changes when a timer is due. It keeps its identity and gets a new revision. */
export interface MoveOperation extends TimerName {
  readonly type: 'move'
  readonly dueAt: number
  readonly position: number
  /** Only if the timer of this name has this identity; 'unknown' otherwise. */
  readonly identity?: number
  /** Only if the timer has this revision; 'conflict' otherwise. */
  readonly ifRevision?: number
  /** The row keeps its attempts and its details unless these are given. */
  readonly attempt?: number
  readonly details?: string
  /**
   * In a store of the mode `claim`: only while the row is claimed; 'conflict' otherwise. The row claim stays, and its
   * token needs the new revision. Without this, a move of a claimed row is answered 'firing'.
   */
  readonly whileFiring?: boolean
  readonly note?: HistoryNote
  readonly request?: string
}

/** Removes a timer. */
export interface CancelOperation extends TimerName {
  readonly type: 'cancel'
  /** Only if the timer of this name has this identity; 'unknown' otherwise. */
  readonly identity?: number
  /** Only if the timer has this revision; 'conflict' otherwise. */
  readonly ifRevision?: number
  readonly note?: HistoryNote
  readonly request?: string
}

/** Answers a request of the inbox without changing a timer, because the owner knows the outcome already. */
export interface AnswerOperation {
  readonly type: 'answer'
  readonly request: string
  readonly outcome: 'firing' | 'settled' | 'unknown'
}

/** One version of a row: its identity and its place. */
export interface RowVersion extends Place {
  readonly identity: number
}

/** What became of an operation. */
export type OperationAnswer =
  /** Stored. `replaced` is the row that had this name before. */
  | { readonly outcome: 'set'; readonly place: Place; readonly replaced: RowVersion | undefined }
  /** A `set` of this identity was stored before; nothing was changed. `current` is the row as it is now. */
  | { readonly outcome: 'same'; readonly current: RowVersion }
  /** `row` is the row after the move, `from` the place that it had before. */
  | { readonly outcome: 'moved'; readonly row: TimerRow; readonly from: Place }
  | { readonly outcome: 'cancelled'; readonly removed: RowVersion }
  /** `ifAbsent` or `ifRevision` did not hold; nothing was changed. */
  | { readonly outcome: 'conflict'; readonly current: RowVersion | undefined }
  /** No timer has this name and identity; nothing was changed. */
  | { readonly outcome: 'unknown' }
  /** Too late: an attempt at the timer is running. Said by the owner, or by a store that has row claims. */
  | { readonly outcome: 'firing' }
  /** Too late: the timer has finished. Only an owner says so, with an `AnswerOperation`. */
  | { readonly outcome: 'settled' }
  /** The position is below the settled level; nothing was changed. The request, if any, stays in the inbox. */
  | { readonly outcome: 'below-level'; readonly settledLevel: Place }
  /** The request is no longer in the inbox: it was answered before. Nothing was changed. */
  | { readonly outcome: 'answered-before' }
  /** The deadline of the requested move or cancel has passed; nothing was changed. */
  | { readonly outcome: 'expired' }
