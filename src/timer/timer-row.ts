import type { Place } from './place.js'

/** A timer's name: unique while the timer lives. */
export interface TimerName {
  readonly namespace: string
  readonly kind: string
  readonly key: string
}

/** What a timer carries from its `set` to its last attempt, whatever it is moved to in between. */
export interface TimerContent extends TimerName {
  /**
   * Names this life of the key: a `set` begins a new one, a move, a retry and a next occurrence keep it. Chosen
   * by whoever accepts the call (a random whole number from 1 to 2^53 - 1), so that a `set` sent twice is one.
   */
  readonly identity: number
  readonly createdAt: number
  readonly payload: Uint8Array
  readonly tags: readonly string[]
  /** What the store need not understand, as text: the schedule, the retry policy. Empty for none. */
  readonly details: string
}

/** Where a timer's life has got to. */
export interface TimerProgress {
  /** Epoch milliseconds of the instant it should fire. */
  readonly dueAt: number
  /** Attempts at this occurrence that are recorded, those of unknown outcome included. */
  readonly attempt: number
  /** Occurrences settled before this one; 0 for a timer that fires once. */
  readonly occurrence: number
}

/** The durable record of a timer, as a store keeps it. */
export interface TimerRow extends TimerContent, TimerProgress, Place {}
