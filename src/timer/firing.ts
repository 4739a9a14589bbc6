import { identityText } from './identity.js'
import type { TimerRow } from './timer-row.js'

/** One due occurrence of a timer, at one numbered attempt. */
export interface Firing {
  /** The same on every attempt at this occurrence, also after a crash or by another owner. */
  readonly id: string
  readonly row: TimerRow
  /** From 1 on; attempts of unknown outcome count. */
  readonly attempt: number
  readonly firedAt: number
  /** The trace of this attempt, where attempts are traced. */
  readonly traceparent?: string
  /** Whether a report would still be heard: none was made, and its owner still owns it. */
  readonly isLive: boolean
  /** Says how the attempt ended. Only the first word counts. */
  report(outcome: Outcome): void
  /** Begins a transaction that settles it. Only where the engine said that it can. */
  begin?(): Promise<FiringTransaction>
}

/** A transaction in which an attempt is settled together with whatever its handler writes: both, or neither. */
export interface FiringTransaction {
  /** What its handler sends statements by. */
  readonly connection: unknown
  /** Settles the attempt with this outcome, commits, and reports. What rejects did not happen, and was not reported. */
  commit(outcome: Outcome): Promise<void>
  /** Undoes everything that was written in it. */
  rollback(): Promise<void>
  /** Undoes it at once, whatever is still under way. */
  abandon(): void
}

/** Where a timer goes on after an occurrence. */
export interface NextOccurrence {
  readonly dueAt: number
  readonly details?: string
}

/** How an attempt ended, and what follows from it; `details` replace those of the row. */
export type Outcome =
  /** The timer's life is over. */
  | { readonly type: 'done' }
  /** This occurrence is done, the next is due then. */
  | ({ readonly type: 'next' } & NextOccurrence)
  /** Try this occurrence again then. */
  | { readonly type: 'retry'; readonly dueAt: number; readonly reason: string; readonly details?: string }
  /** Keep this occurrence as a dead letter. With `next` the timer goes on: its next occurrence is due then. */
  | { readonly type: 'dead'; readonly reason: string; readonly next?: NextOccurrence }

/** Takes due timers to whoever handles them. Must not throw; each firing is reported on, now or later. */
export type Deliver = (firings: readonly Firing[]) => void

export const done: Outcome = Object.freeze({ type: 'done' })

/** The firing id of an occurrence. */
export function firingIdOf(row: TimerRow): string {
  return `${identityText(row.identity)}-${row.occurrence.toString(36)}`
}
