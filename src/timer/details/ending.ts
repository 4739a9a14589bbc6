import { decodeDetails, encodeDetails, type LastAttempt } from './details.js'
import { done, type Outcome } from '../firing.js'
import type { TimerRow } from '../timer-row.js'

type MarkedRow = Pick<TimerRow, 'details' | 'attempt' | 'occurrence'>

/** Whether the timer is on a schedule: more occurrences may follow the current one. */
export function isRecurring({ details }: Pick<TimerRow, 'details'>): boolean {
  return details !== '' && decodeDetails(details).on !== undefined
}

/** The details of a recurring timer that was cancelled during its next attempt: that attempt is the last one. */
export function endingDetails({ details, attempt, occurrence }: MarkedRow): string {
  const lastAttempt: LastAttempt = { occurrence, attempt: attempt + 1 }
  return encodeDetails({ ...decodeDetails(details), lastAttempt })
}

// Few timers are cancelled while they fire. To look for the field's name costs less than to parse the details.
function lastOf({ details }: MarkedRow): LastAttempt | undefined {
  return details.includes('"lastAttempt":') ? decodeDetails(details).lastAttempt : undefined
}

/** Whether the timer was cancelled while it fired: no attempt follows the one that ran then. */
export function isEnding(row: MarkedRow): boolean {
  return row.details !== '' && lastOf(row) !== undefined
}

/** Whether the attempt that ran when the timer was cancelled is already counted, so that no further one may start. */
export function isPastLast(row: MarkedRow): boolean {
  if (row.details === '') return false
  const last = lastOf(row)
  if (last === undefined) return false
  return row.occurrence > last.occurrence || row.attempt >= last.attempt
}

/** The outcome of an attempt at the row. If the row was cancelled meanwhile, neither a retry nor an occurrence follows. */
export function lastOutcome(row: MarkedRow, outcome: Outcome): Outcome {
  if (outcome.type === 'done' || !isEnding(row)) return outcome
  if (outcome.type === 'next') return done
  if (outcome.type === 'retry') return { type: 'dead', reason: `${LAST_FAILED}: ${outcome.reason}` }
  const { next: _, ...dead } = outcome
  return dead
}

/** What follows from the last attempt if nobody knows how it ended. */
export const lastUnknown: Extract<Outcome, { readonly type: 'dead' }> = Object.freeze({
  type: 'dead',
  reason: 'it was cancelled while it fired, and the outcome of that attempt is unknown',
})

const LAST_FAILED = 'it was cancelled while it fired, and that attempt failed'
