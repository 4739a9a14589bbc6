import { StoreError } from '../../error/index.js'
import type { Hold } from './holder.js'
import type { NotAfter } from './not-after.js'
import type { PauseView } from '../answers.js'
import type { RetryOptions } from '../retry-policy.js'
import type { KeptRevision } from './revision.js'
import type { TimerRow } from '../timer-row.js'

/** What a timer carries besides its payload. Stored as JSON in the `details` of its row. */
export interface TimerDetails {
  /** The process that runs the current attempt, if it is not the owner. It must be the first field: see holder.ts. */
  readonly heldBy?: Hold
  /** The JSON form of its schedule. */
  readonly on?: unknown
  /** Overrides the retry policy of the kind. */
  readonly retry?: RetryOptions
  /** When the occurrence was first due, if it is being retried. */
  readonly firstDueAt?: number
  /** How much later than its schedule says the timer is due: its offset in the firing window. */
  readonly offsetMs?: number
  /** The trace in which the timer was set, as a W3C `traceparent`. */
  readonly trace?: string
  /** The occurrence that became a dead letter, if this timer is the redriven letter. It fires under the same id. */
  readonly redriveOf?: OccurrenceName
  /** When the timer was due before it was paused. */
  readonly pausedDueAt?: number
  /** Why it was paused, when and by whom. */
  readonly pause?: PauseView
  /** No attempt starts later than this. */
  readonly notAfter?: NotAfter
  /** Set when a recurring timer is cancelled while it fires: no attempt after this one starts. */
  readonly lastAttempt?: LastAttempt
  /** The revision before an owner rewrote the row by itself. See revision.ts. */
  readonly kept?: KeptRevision
}

/** Names the last attempt at a timer. */
export interface LastAttempt {
  readonly occurrence: number
  readonly attempt: number
}

/** Names an occurrence within its namespace and kind. */
export interface OccurrenceName {
  readonly key: string
  readonly id: string
}

export function encodeDetails(details: TimerDetails): string {
  const text = JSON.stringify(details)
  return text === '{}' ? '' : text
}

/** Throws 'store-damaged' if they cannot be read. */
export function decodeDetails(text: string): TimerDetails {
  if (text === '') return none
  try {
    return JSON.parse(text) as TimerDetails
  } catch (error) {
    throw new StoreError('store-damaged', `the details of a timer cannot be read: ${String(error)}`, {
      cause: error,
    })
  }
}

/** The details as far as they can be read. For what must never fail, such as events. */
export function knownDetails(text: string): TimerDetails {
  try {
    return decodeDetails(text)
  } catch {
    return none
  }
}

/** When the current occurrence was first due, before any retry. */
export function occurrenceDueAt(row: TimerRow): number {
  return row.details === '' ? row.dueAt : (knownDetails(row.details).firstDueAt ?? row.dueAt)
}

/** The reasons of dead letters whose row could not be read begin with this. */
export const UNREADABLE = 'unreadable: '

const none: TimerDetails = Object.freeze({})
