import type { TimerHandle } from './name/handle.js'

/** The answer to `set`. */
export interface SetTimer {
  /**
   * 'unchanged': the timer was there with the same schedule, payload, tags and options, and nothing changed. Only for a
   * set with a schedule (`on`). 'conflict': the condition `ifAbsent` or `ifRevision` failed, and nothing changed. The
   * other fields then describe the timer that exists under this key, if there still is one.
   */
  readonly outcome: 'set' | 'unchanged' | 'conflict'
  readonly key: string
  /** Finds this timer and no later one of the same key. */
  readonly handle: TimerHandle
  readonly dueAt: number
  /** Undefined if another instance stores the timer. */
  readonly revision: number | undefined
}

/** The answer to `setMany`: one per timer, in the order given. An answer may be created only when it is read. */
export interface SetTimers extends Iterable<SetTimer> {
  readonly length: number
  /** A negative index counts from the end, as in an array. */
  at(index: number): SetTimer | undefined
  map<Value>(of: (timer: SetTimer, index: number) => Value): Value[]
}

/** Why, since when and by whom something is paused, as far as that is known. */
export interface PauseView {
  readonly note?: string
  readonly since?: number
  readonly by?: string
  /** It was paused because its target answered 410. */
  readonly isTargetGone?: boolean
}

/** The current state of a timer. */
export interface TimerView<Payload = unknown> {
  readonly namespace: string
  readonly kind: string
  readonly key: string
  readonly handle: TimerHandle
  readonly revision: number
  /**
   * 'firing': an attempt is under way in this instance, or its outcome is being stored. 'settled': the timer has ended,
   * and the store still remembers it. Only `get` and `why` answer that.
   */
  readonly state: 'waiting' | 'firing' | 'paused' | 'settled'
  readonly dueAt: number
  readonly createdAt: number
  /** Recorded attempts at this occurrence. */
  readonly attempts: number
  readonly occurrence: number
  readonly payload: Payload
  readonly tags: readonly string[]
  /** The JSON form of its schedule; undefined for a timer that fires once. */
  readonly on: unknown
  /** How and when it ended, if its state is 'settled'. */
  readonly settled?: SettledView
  /** Why it is paused, if its state is 'paused'. */
  readonly pause?: PauseView
  /**
   * Why it has not started although it is overdue by more than a second: codes such as 'kind-paused', 'unhandled' or
   * 'no-owner'. Absent if it is not overdue. `why` has them as sentences, with what to do.
   */
  readonly causes?: readonly string[]
  /** Why its row cannot be read, if it cannot. It becomes a dead letter when it is due. */
  readonly fault?: string
}

/** How a timer ended. */
export interface SettledView {
  /** 'missed': it could not start by its latest start (`notAfter`), and is kept as a dead letter. */
  readonly outcome: 'done' | 'dead' | 'missed'
  /** Exact for a dead letter. A timer that was done ended no earlier than this, and normally within seconds of it. */
  readonly at: number
  /** Why it became a dead letter, or was missed. */
  readonly reason?: string
}

/** A dead letter: an occurrence whose attempts have ended without success. */
export interface DeadView<Payload = unknown> {
  /** For `redrive`. */
  readonly id: string
  readonly kind: string
  readonly key: string
  readonly dueAt: number
  readonly diedAt: number
  readonly reason: string
  /** Attempts made, including those of unknown outcome. */
  readonly attempts: number
  readonly payload: Payload
}

/** Limits of a namespace. A limit that is absent does not apply. Dead letters count until they are discarded. */
export interface QuotaLimits {
  readonly maxTimers?: number
  /** Total size of the payloads of its timers and dead letters. */
  readonly maxBytes?: number
}

/** A quota and its use. */
export interface QuotaView extends QuotaLimits {
  /** Counted at `countedAt`, plus what this instance has set since. */
  readonly used?: {
    /** Including dead letters. */
    readonly timers: number
    readonly bytes: number
    readonly deadLetters: number
  }
  readonly countedAt?: number
}
