import type { Place } from './place.js'

/** A timer's name. At most one timer exists under a name. */
export interface TimerName {
  readonly namespace: string
  readonly kind: string
  readonly key: string
}

/** What a timer carries unchanged from its `set` to its last attempt. */
export interface TimerContent extends TimerName {
  /**
   * Names this life of the key. A `set` begins a new life. A move, a retry and a next occurrence keep it. The process
   * that accepts the call draws it (a random integer from 1 to 2^53 - 1), so a `set` that is sent twice is one timer.
   */
  readonly identity: number
  readonly createdAt: number
  readonly payload: Uint8Array
  readonly tags: readonly string[]
  /** JSON that the store does not interpret, such as schedule and retry policy. Empty if there is none. */
  readonly details: string
}

/** How far a timer has come. */
export interface TimerProgress {
  /** The instant at which it should fire, in epoch milliseconds. */
  readonly dueAt: number
  /** Recorded attempts at this occurrence, including those of unknown outcome. */
  readonly attempt: number
  /** The number of occurrences settled before this one. It is 0 for a timer that fires once. */
  readonly occurrence: number
}

/** The durable record of a timer, as a store keeps it. */
export interface TimerRow extends TimerContent, TimerProgress, Place {}
