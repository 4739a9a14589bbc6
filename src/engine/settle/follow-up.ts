import type { ClaimProgress, FollowUp } from '../../store/index.js'
import type { NextOccurrence, Outcome, TimerRow } from '../../timer/index.js'
import type { Attempt } from '../fire/attempt.js'

/** The state of a row at its next occurrence. */
export function progressOfNext(row: TimerRow, { dueAt, details }: NextOccurrence): ClaimProgress {
  return { dueAt, attempt: 0, occurrence: row.occurrence + 1, ...(details !== undefined && { details }) }
}

/** The state of a row after an attempt that did not end it. */
export function progressAfter(
  { row, attempt }: Attempt,
  outcome: Extract<Outcome, { readonly type: 'next' | 'retry' }>,
): ClaimProgress {
  if (outcome.type === 'next') return progressOfNext(row, outcome)
  const { dueAt, details } = outcome
  return { dueAt, attempt, occurrence: row.occurrence, ...(details !== undefined && { details }) }
}

/** Adds the position: the due time, but not below the settled level and not before an owner could load it (rule 4). */
export function placed(progress: ClaimProgress, floor: number, soonest: number): Omit<FollowUp, 'row'> {
  return { ...progress, position: Math.max(progress.dueAt, floor, soonest) }
}
