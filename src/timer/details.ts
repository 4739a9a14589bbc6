import type { RetryOptions } from './retry-policy.js'

/** What a timer carries beside its payload, as text in its record. */
export interface TimerDetails {
  /** The JSON form of its schedule. */
  readonly on?: unknown
  /** What overrides its kind's policy. */
  readonly retry?: RetryOptions
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

const none: TimerDetails = Object.freeze({})
