import type { TimerName, TimerRow } from '../../timer/index.js'
import type { FollowUp } from './owner.js'

/** A dead letter to store: the owner gives up a timer, or one occurrence of it. */
export interface NewDeadLetter {
  readonly row: TimerRow
  readonly diedAt: number
  readonly reason: string
  /**
   * The timer goes on: the same write rewrites its row as a follow-up does. The timer has not ended, so it is not
   * counted as dead. Without `next` the row is removed and counted.
   */
  readonly next?: Omit<FollowUp, 'row'>
}

/** A stored dead letter, with the row as it was when the owner gave it up. */
export interface DeadLetter extends Omit<NewDeadLetter, 'next'> {
  readonly id: string
}

/** What an operation adds to the history of its timer, if it changes anything. */
export interface HistoryNote {
  readonly at: number
  /** What happened: 'created', 'moved', 'attempt', 'settled', … */
  readonly event: string
  /** A string that the store does not interpret. */
  readonly details: string
}

/** Something that happened to a timer. */
export interface HistoryEntry extends TimerName, HistoryNote {
  readonly identity: number
}
