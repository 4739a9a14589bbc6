import { decodeDetails, encodeDetails } from './details.js'
import type { TimerRow } from '../timer-row.js'

/**
 * The revision of a timer as its users know it. An owner rewrites the rows of due timers that cannot start, and of
 * attempts that run long, because they would hold its settled level back. That gives the row another revision, although
 * nothing has changed for anybody. So the details keep the revision from before. It holds as long as the other fields
 * match the row: a retry or the next occurrence changes them, and a move removes it.
 */
export interface KeptRevision {
  readonly revision: number
  readonly dueAt: number
  readonly attempt: number
  readonly occurrence: number
}

type RevisedRow = Pick<TimerRow, 'revision' | 'details' | 'dueAt' | 'attempt' | 'occurrence'>

const FIELD = '"kept":'

/** The revision of the timer as its users know it. */
export function revisionOf(row: RevisedRow): number {
  // Few rows are rewritten. To look for the field's name costs less than to parse the details.
  if (row.details === '' || !row.details.includes(FIELD)) return row.revision
  const { kept } = decodeDetails(row.details)
  const isCurrent =
    kept?.dueAt === row.dueAt && kept.attempt === row.attempt && kept.occurrence === row.occurrence
  return isCurrent ? kept.revision : row.revision
}

/** Whether a condition names the revision of the row: as users know it, or as the store does. */
export function isRevisionOf(row: RevisedRow, revision: number): boolean {
  return revision === row.revision || revision === revisionOf(row)
}

/** The details of a row that is rewritten although nothing has changed for its users. */
export function keptDetails(row: RevisedRow): string {
  const { dueAt, attempt, occurrence } = row
  const kept: KeptRevision = { revision: revisionOf(row), dueAt, attempt, occurrence }
  return encodeDetails({ ...decodeDetails(row.details), kept })
}

/** These details without a kept revision. */
export function changedDetails(details: string): string {
  if (!details.includes(FIELD)) return details
  const { kept: _, ...rest } = decodeDetails(details)
  return encodeDetails(rest)
}
