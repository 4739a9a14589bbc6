import { decodeDetails, type OccurrenceName } from './details/details.js'
import { identityText } from './name/identity.js'
import type { TimerRow } from './timer-row.js'

/** One numbered attempt at a due occurrence of a timer, as its handler sees it. */
export interface Firing {
  /** The same on every attempt at this occurrence, also after a crash, at another owner and when it is redriven. */
  readonly id: string
  readonly row: TimerRow
  /** Counted from 1. Attempts of unknown outcome count. */
  readonly attempt: number
  readonly firedAt: number
  /** The trace of this attempt, if attempts are traced. */
  readonly traceparent?: string
  /** Whether a report still has an effect: none was made so far, and the owner still owns the timer. */
  readonly isLive: boolean
  /**
   * Call it right before the attempt starts, if any other code has run since the firing was delivered. False: the
   * attempt may no longer start, because the lease is over or the timer was replaced. Then neither run nor report it.
   * `at` is the monotonic time, if the caller has just read it.
   */
  start(at?: number): boolean
  /** Gives the firing back unstarted, because others need the event loop. It is delivered again in a later turn. */
  postpone(): void
  /** Called when the outcome of a running attempt no longer counts, because another owner has the timer. */
  onAbandoned?: ((reason: Error) => void) | undefined
  /** Reports how the attempt ended. Only the first report counts. */
  report(outcome: Outcome): void
  /** Begins a transaction that settles the attempt. Only present if the store supports it. */
  begin?(): Promise<FiringTransaction>
}

/** A transaction that settles an attempt together with the handler's own writes: both, or neither. */
export interface FiringTransaction {
  /** The connection on which the handler sends its statements. */
  readonly connection: unknown
  /** Settles the attempt with this outcome, commits, and reports. If it rejects, none of that happened. */
  commit(outcome: Outcome): Promise<void>
  /** Undoes everything that was written in the transaction. */
  rollback(): Promise<void>
  /** Undoes the transaction at once, even if statements are under way. */
  abandon(): void
}

/** The next occurrence of a timer. */
export interface NextOccurrence {
  readonly dueAt: number
  readonly details?: string
}

/** How an attempt ended, and what follows. `details` replace those of the row. */
export type Outcome =
  /** The timer is finished. `isEnd` if its handler said so: a worker of a server does not know the schedule. */
  | { readonly type: 'done'; readonly isEnd?: true }
  /** This occurrence is done. The next one is due at `dueAt`. */
  | ({ readonly type: 'next' } & NextOccurrence)
  /** Retry this occurrence at `dueAt`. */
  | { readonly type: 'retry'; readonly dueAt: number; readonly reason: string; readonly details?: string }
  /** Keep this occurrence as a dead letter. With `next` the timer goes on with its next occurrence. */
  | {
      readonly type: 'dead'
      readonly reason: string
      readonly next?: NextOccurrence
      /** It could not start by its latest start, and was never started. */
      readonly isMissed?: true
      /** Its row could not be read. */
      readonly isUnreadable?: true
    }

/** Passes firings to their handlers. It must not throw, and must report each firing, now or later. */
export type Deliver = (firings: readonly Firing[]) => void

export const done: Outcome = Object.freeze({ type: 'done' })
/** The handler has ended the timer. */
export const ended: Outcome = Object.freeze({ type: 'done', isEnd: true })

/** The part of the firing id after kind and key: identity and occurrence. */
export function firingIdOf(row: TimerRow): string {
  return redriveOf(row)?.id ?? `${identityText(row.identity)}-${row.occurrence.toString(36)}`
}

/** The key in the firing id of an occurrence: not the row's, if the row is a dead letter that was set beside a timer. */
export function firingKeyOf(row: TimerRow): string {
  return redriveOf(row)?.key ?? row.key
}

// Few rows are redriven letters. To look for the field's name costs less than to parse the details.
function redriveOf({ details }: TimerRow): OccurrenceName | undefined {
  return details.includes('"redriveOf":') ? decodeDetails(details).redriveOf : undefined
}
