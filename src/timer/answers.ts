import type { TimerHandle } from './handle.js'

/** What `set` answers. */
export interface SetTimer {
  /**
   * 'conflict': `ifAbsent` or `ifRevision` did not hold, and nothing was changed; what follows then tells of the
   * timer that stands there, if one still does.
   */
  readonly outcome: 'set' | 'conflict'
  readonly key: string
  /** Finds this timer and no later one of the same key. */
  readonly handle: TimerHandle
  readonly dueAt: number
  /** Undefined when another instance stores it. */
  readonly revision: number | undefined
}

/** What `setMany` answers: one for each, in their order. It may be made only when it is asked for. */
export interface SetTimers extends Iterable<SetTimer> {
  readonly length: number
  /** Counted from the end when negative, as in a list. */
  at(index: number): SetTimer | undefined
  map<Value>(of: (timer: SetTimer, index: number) => Value): Value[]
}

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

/** What a namespace may hold. What is left out is not limited. */
export interface QuotaLimits {
  readonly maxTimers?: number
  /** Of the payloads of its timers. */
  readonly maxBytes?: number
}

/** A quota, and what is used of it as far as was counted. */
export interface QuotaView extends QuotaLimits {
  /** As of `countedAt`, and what this instance has set since. */
  readonly used?: { readonly timers: number; readonly bytes: number }
  readonly countedAt?: number
}
