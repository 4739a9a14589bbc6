import type { RetryOptions } from './retry-policy.js'

/** What a timer carries beside its payload, as text in its record. */
export interface TimerDetails {
  /** The JSON form of its schedule. */
  readonly on?: unknown
  /** What overrides its kind's policy. */
  readonly retry?: RetryOptions
}

export function encodeDetails(details: TimerDetails): string {
  return details.on === undefined && details.retry === undefined ? '' : JSON.stringify(details)
}

export function decodeDetails(text: string): TimerDetails {
  return text === '' ? none : (JSON.parse(text) as TimerDetails)
}

const none: TimerDetails = Object.freeze({})
