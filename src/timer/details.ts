import type { RetryOptions } from './retry-policy.js'
import type { TimerRow } from './timer-row.js'

/** What a timer carries beside its payload, as text in its record. */
export interface TimerDetails {
  /** The JSON form of its schedule. */
  readonly on?: unknown
  /** What overrides its kind's policy. */
  readonly retry?: RetryOptions
  /** When the occurrence was due that is being tried again. */
  readonly firstDueAt?: number
  /** How much later than its schedule says it is due: its place in the schedule's window. */
  readonly offsetMs?: number
  /** The trace it was set in, as W3C Trace Context writes it. */
  readonly trace?: string
  /** When it was due before it was paused. */
  readonly pausedDueAt?: number
}

export function encodeDetails(details: TimerDetails): string {
  const text = JSON.stringify(details)
  return text === '{}' ? '' : text
}

export function decodeDetails(text: string): TimerDetails {
  return text === '' ? none : (JSON.parse(text) as TimerDetails)
}

/** When the occurrence at hand was due, however often it was tried again since. */
export function occurrenceDueAt(row: TimerRow): number {
  return row.details === '' ? row.dueAt : (decodeDetails(row.details).firstDueAt ?? row.dueAt)
}

const none: TimerDetails = Object.freeze({})
