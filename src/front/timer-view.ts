import type { DeadLetter } from '../store/index.js'
import {
  decodeDetails,
  decodePayload,
  handleOf,
  occurrenceDueAt,
  type TimerHandle,
  type TimerRow,
} from '../timer/index.js'

/** A timer as it stands. */
export interface TimerView<Payload = unknown> {
  readonly namespace: string
  readonly kind: string
  readonly key: string
  readonly handle: TimerHandle
  readonly revision: number
  /** 'firing': an attempt is under way in this instance, or what it came to is being stored. */
  readonly state: 'waiting' | 'firing' | 'paused'
  readonly dueAt: number
  readonly createdAt: number
  /** Attempts at this occurrence that are recorded. */
  readonly attempts: number
  readonly occurrence: number
  readonly payload: Payload
  readonly tags: readonly string[]
  /** The JSON form of its schedule; undefined for a timer that fires once. */
  readonly on: unknown
}

/** The last instant there is: where a paused timer waits. */
export const NEVER = 8.64e15

/** A timer that was moved since it was paused is not paused any more. */
export function isPausedRow(row: TimerRow): boolean {
  return row.dueAt === NEVER && decodeDetails(row.details).pausedDueAt !== undefined
}

/** When a row is due; for a paused one, when it was and will be. */
export function dueAtOfRow(row: TimerRow): number {
  return row.dueAt === NEVER ? (decodeDetails(row.details).pausedDueAt ?? NEVER) : row.dueAt
}

export function timerViewOf(row: TimerRow, isFiring: boolean): TimerView {
  const { on } = decodeDetails(row.details)
  return {
    namespace: row.namespace,
    kind: row.kind,
    key: row.key,
    handle: handleOf(row),
    revision: row.revision,
    state: isPausedRow(row) ? 'paused' : isFiring ? 'firing' : 'waiting',
    dueAt: dueAtOfRow(row),
    createdAt: row.createdAt,
    attempts: row.attempt,
    occurrence: row.occurrence,
    payload: decodePayload(row.payload),
    tags: row.tags,
    on,
  }
}

/** A timer that was given up. */
export interface DeadView<Payload = unknown> {
  /** Give it to `redrive`. */
  readonly id: string
  readonly kind: string
  readonly key: string
  readonly dueAt: number
  readonly diedAt: number
  readonly reason: string
  /** Attempts that were made, those of unknown outcome included. */
  readonly attempts: number
  readonly payload: Payload
}

export function deadViewOf({ id, row, diedAt, reason }: DeadLetter): DeadView {
  return {
    id,
    kind: row.kind,
    key: row.key,
    dueAt: occurrenceDueAt(row),
    diedAt,
    reason,
    attempts: row.attempt + 1,
    payload: decodePayload(row.payload),
  }
}
