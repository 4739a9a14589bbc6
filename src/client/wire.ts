import type { CarillonError } from '../error/index.js'
import type { Duration } from '../time/index.js'
import type { DeadView, PauseView, RetryOptions, TimerView } from '../timer/index.js'

/** The types of the client's calls and results. */

/** A kind of timer: its name, or what `timer()` made. */
export type KindGiven = string | { readonly name: string }

/** An instant: epoch milliseconds, a `Date`, an ISO 8601 string with an offset, or a Temporal instant. */
export type InstantGiven = number | Date | string | { readonly epochMilliseconds: number }

/** A cron expression in UTC, a schedule, or its JSON form. */
type ScheduleGiven = string | object

/** After a duration, by the server's clock, or at an instant. */
export type WhenGiven =
  | { readonly in: Duration; readonly at?: never; readonly on?: never }
  | { readonly at: InstantGiven; readonly in?: never; readonly on?: never }

/** The options of a set. */
export type SetInput = (
  WhenGiven | { readonly on: ScheduleGiven; readonly in?: never; readonly at?: never }
) & {
  readonly payload?: unknown
  readonly tags?: readonly string[]
  readonly retry?: RetryOptions
  /** No attempt starts later than this: an instant, or a time after the due time. */
  readonly notAfter?: { readonly within: Duration } | { readonly at: InstantGiven }
  /** Only if no timer has this key. */
  readonly ifAbsent?: boolean
  /** Only if the timer of this key has this revision. */
  readonly ifRevision?: number
  /** The trace of its deliveries, in the format of W3C Trace Context. */
  readonly traceparent?: string
}

/** A row without a key gets a new one. A key that may be undefined is refused. */
export type SetManyInput = SetInput & ({ readonly key: string } | { readonly key?: never })

/** One page of a list. The last page has no cursor. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly cursor: string | undefined
}

/** One page of timers. */
export interface TimersPage<Item> extends Page<Item> {
  /** Whether the page is as long as asked for, or the last one. Otherwise it ended early: the cursor continues. */
  readonly complete: boolean
  /** How many timers the list has looked at since its first page. */
  readonly looked: number
  /** About how many timers the store has, in all namespaces. Only if the page ended early. */
  readonly total?: number
}

/** How many timers match, as far as they were counted. */
export interface TimersCount {
  readonly count: number
  /** Goes on counting, if not all were counted. Add up the counts. */
  readonly cursor: string | undefined
  /** Whether all were counted. */
  readonly complete: boolean
  readonly looked: number
  readonly total?: number
}

/** Which page of a list to read. */
export interface PageQuery {
  /** The most items, up to 1,000. Default 100. */
  readonly limit?: number
  readonly cursor?: string | undefined
}

/** Which timers to list. */
export interface TimersQuery {
  readonly kind?: KindGiven
  readonly keyPrefix?: string
  /** Is somewhere in the key. Upper and lower case differ. */
  readonly keyPart?: string
  readonly tag?: string
  readonly dueFrom?: InstantGiven
  readonly dueUntil?: InstantGiven
  /** Has had at least this many attempts at its current occurrence. */
  readonly attemptsFrom?: number
  /** Has had fewer attempts than this. */
  readonly attemptsUntil?: number
  /** Whether it has a schedule. */
  readonly recurring?: boolean
  /** 'firing': in the instance that answers. 'retrying': it waits, after at least one attempt. */
  readonly state?: 'waiting' | 'firing' | 'paused' | 'retrying'
}

/** What is paused, and why. */
export interface PausedAnswer {
  readonly all: boolean
  readonly kinds: readonly string[]
  readonly allPause?: PauseView
  readonly ofKinds: readonly ({ readonly kind: string } & PauseView)[]
}

/** The order of a list. */
export interface TimersOrder {
  /** 'due': what is due first comes first. 'latest': what is due last. Default: the order that costs least. */
  readonly order?: 'due' | 'latest'
}

/** Which part of the history to read. */
export interface HistoryQuery {
  readonly kind?: KindGiven
  readonly key?: string
  readonly from?: InstantGiven
  readonly until?: InstantGiven
}

/** One event of the history. Its other fields depend on the event. */
export interface HistoryLine {
  readonly at: number
  readonly event: string
  readonly kind: string
  readonly key: string
}

/** Which span a forecast covers, and for which timers. */
export interface ForecastQuery {
  readonly kind?: KindGiven
  readonly from?: InstantGiven
  readonly over?: Duration
  readonly slice?: Duration
}

export interface ForecastSlice {
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly count: number
}

/** All that is known about a key. */
export interface WhyAnswer {
  readonly timer?: TimerView
  readonly events: readonly HistoryLine[]
  readonly dead: readonly DeadView[]
  readonly told: readonly string[]
  /** Absent from a server of an older version. */
  readonly causes?: readonly { readonly code: string; readonly text: string; readonly remedy: string }[]
}

/** The answer to a redrive. */
export interface Redriven {
  readonly count: number
  readonly beside: readonly {
    readonly id: string
    readonly kind: string
    readonly of: string
    readonly key: string
    readonly handle: string
  }[]
}

/** The target of a kind, without secrets. */
export interface Target {
  readonly kind: string
  readonly version: number
  readonly type: 'webhook' | 'lease' | 'log'
  readonly retry?: RetryOptions
}

/** The outcome of a change; 'conflict' only with `ifRevision`. */
export type MoveAnswer = 'moved' | 'firing' | 'settled' | 'unknown' | 'conflict'
/** The answer to a cancel. */
export type CancelAnswer = 'cancelled' | 'ending' | 'firing' | 'settled' | 'unknown' | 'conflict'

/** The condition of a change. */
export interface ChangeOptions {
  readonly ifRevision?: number
}

/** The options of a lease request. */
export interface LeaseOptions {
  /** The most firings, up to 1,000. Default 1. */
  readonly max?: number
  /** How long to wait for the first firing, up to a minute. Default 0. */
  readonly wait?: Duration
  /** How long the lease lasts. Default: the duration of the target. */
  readonly duration?: Duration
  readonly signal?: AbortSignal
}

/** A due occurrence of a timer, leased to this worker. */
export interface LeasedTimer<Payload = unknown> {
  readonly receipt: string
  readonly leaseUntil: number
  readonly id: string
  readonly kind: string
  readonly key: string
  readonly handle: string
  readonly payload: Payload
  readonly tags: readonly string[]
  readonly dueAt: number
  readonly firedAt: number
  readonly attempt: number
  readonly occurrence: number
}

/** The options of `ack`. */
export interface AckOptions {
  readonly again?: { readonly in: Duration } | { readonly at: number | Date }
  /** End a recurring timer: no further occurrence follows. */
  readonly end?: boolean
}

/** The options of `release`. */
export interface ReleaseOptions {
  readonly in?: Duration
  readonly reason?: string
  readonly dead?: boolean
}

/** The answer of a worker for one lease. */
export type LeaseAnswer =
  | ({ readonly do: 'ack'; readonly receipt: string } & AckOptions)
  | { readonly do: 'extend'; readonly receipt: string; readonly duration: Duration }
  | ({ readonly do: 'release'; readonly receipt: string } & ReleaseOptions)

/** The result of one answer: its outcome ('stale' if the lease had ended), or why it could not be applied. */
export type LeaseAnswered =
  | { readonly outcome: 'acked' | 'extended' | 'released' | 'stale'; readonly error?: never }
  | { readonly error: CarillonError; readonly outcome?: never }

/** One row of a batch. */
export type BatchRow =
  | { readonly do: 'set' | 'move' | 'cancel'; readonly kind: string; readonly key: string }
  | { readonly do: 'move' | 'cancel'; readonly handle: string }

/** The server's answer to one row of a batch. */
export interface BatchAnswer {
  readonly outcome: string
  readonly key?: string
  readonly handle?: string
  readonly dueAt?: number
  readonly revision?: number
  readonly code?: string
  readonly detail?: string
}
