import type { DeadLetter } from '../../store/index.js'
import {
  type DeadView,
  decodeDetails,
  decodePayload,
  handleOf,
  knownDetails,
  MISSED,
  occurrenceDueAt,
  revisionOf,
  type TimerRow,
  type TimerView,
} from '../../timer/index.js'

/** The last instant of a `Date`. A paused timer waits there. */
export const NEVER = 8.64e15

/** Whether a timer is paused. A timer that was moved since its pause is not. */
export function isPausedRow(row: TimerRow): boolean {
  return row.dueAt === NEVER && knownDetails(row.details).pausedDueAt !== undefined
}

/** When a row is due. For a paused timer, this is the due time that it keeps for later. */
export function dueAtOfRow(row: TimerRow): number {
  return row.dueAt === NEVER ? (knownDetails(row.details).pausedDueAt ?? NEVER) : row.dueAt
}

export function timerViewOf(row: TimerRow, isFiring: boolean): TimerView {
  const { fault, on, payload } = contentOf(row)
  const isPaused = isPausedRow(row)
  const pause = isPaused ? knownDetails(row.details).pause : undefined
  return {
    namespace: row.namespace,
    kind: row.kind,
    key: row.key,
    handle: handleOf(row),
    revision: revisionOf(row),
    state: isPaused ? 'paused' : isFiring ? 'firing' : 'waiting',
    dueAt: dueAtOfRow(row),
    createdAt: row.createdAt,
    attempts: row.attempt,
    occurrence: row.occurrence,
    payload,
    tags: row.tags,
    on,
    ...(pause !== undefined && { pause }),
    ...(fault !== undefined && { fault }),
  }
}

/** One row that cannot be read must not hide the others of a list. */
function contentOf(row: TimerRow): {
  readonly on?: unknown
  readonly payload?: unknown
  readonly fault?: string
} {
  try {
    return { on: decodeDetails(row.details).on, payload: decodePayload(row.payload) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

export function deadViewOf({ id, row, diedAt, reason }: DeadLetter): DeadView {
  return {
    id,
    kind: row.kind,
    key: row.key,
    dueAt: occurrenceDueAt(row),
    diedAt,
    reason,
    attempts: reason.startsWith(MISSED) ? row.attempt : row.attempt + 1,
    payload: contentOf({ ...row, details: '' }).payload,
  }
}
