import type { Duration } from '../time/index.js'
import type { PauseView } from '../timer/index.js'
import type { TimersQuery } from './wire.js'

/** The types of what an operator sees. */

/** How many instances there are, and how many have answered. The rest is missing in the sums. */
export interface InstancesAnswered {
  readonly known: number
  readonly answered: number
}

/** When something was counted in the background. Absent until the first count has ended. */
export interface CountedAnswer {
  readonly state: 'none' | 'running' | 'done'
  readonly countedAt?: number
}

/** Timers by state. */
export interface StateCounts {
  readonly pending: number
  /** Due for more than five seconds. */
  readonly overdue: number
  readonly oldestDueAt?: number
  /** Due, and waiting in the memory of an instance. */
  readonly waiting: number
  readonly inFlight: number
  readonly retrying: number
  readonly paused: number
  readonly dead: number
}

/** What a server knows about one kind. */
export interface KindOverview extends StateCounts {
  readonly kind: string
  readonly pause?: PauseView
  readonly target?: {
    readonly type: 'webhook' | 'lease' | 'log'
    readonly version: number
    readonly url?: string
  }
  /** What keeps an instance from using the target. */
  readonly breaker?: 'gone' | 'refused' | 'open'
  readonly handledBy: readonly string[]
  /** Over the last minute. */
  readonly perSecond: Readonly<Record<'set' | 'fired' | 'done' | 'failed' | 'dead', number>>
  /** Of the last ten minutes, as upper bounds. */
  readonly lateness?: { readonly p50Ms: number; readonly p99Ms: number }
}

/** The kinds of a namespace with their counts, summed over all instances. */
export interface OverviewAnswer {
  readonly at: number
  readonly namespace: string
  readonly isAllPaused: boolean
  readonly allPause?: PauseView
  readonly totals: StateCounts
  readonly kinds: readonly KindOverview[]
  readonly moreKinds: boolean
  readonly counted: CountedAnswer
  readonly instances: InstancesAnswered
}

/** What happened in one step. Divide by the length of a step for a rate. */
export interface SeriesPoint {
  readonly at: number
  readonly set: number
  readonly fired: number
  readonly done: number
  readonly failed: number
  readonly dead: number
  readonly p50Ms?: number
  readonly p99Ms?: number
}

/** Values over time, as a server keeps them. */
export interface SeriesAnswer {
  readonly stepMs: number
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly points: readonly SeriesPoint[]
  readonly instances: InstancesAnswered
}

/** Dead letters of one kind with a like reason. */
export interface DeadGroup {
  readonly kind: string
  readonly reason: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  readonly sampleId: string
  readonly slices: readonly number[]
}

/** Dead letters by kind and reason. */
export interface DeadGroups {
  readonly groups: readonly DeadGroup[]
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly sliceMs: number
  readonly total: number
  readonly isComplete: boolean
  readonly counted: CountedAnswer
}

/** Which dead letters a job changes. */
export interface DeadFilter {
  readonly kind?: string
  readonly key?: string
  /** As a group of dead letters has it. */
  readonly reason?: string
  readonly diedFrom?: number | string
  readonly diedUntil?: number | string
  readonly all?: true
}

type TimerFilter = Omit<TimersQuery, 'kind' | 'dueFrom' | 'dueUntil'> & {
  readonly kind?: string
  readonly dueFrom?: number | string
  readonly dueUntil?: number | string
}

/** A change to all timers or dead letters that match a filter. */
export type JobInput = { readonly perSecond?: number } & (
  | { readonly action: 'cancel' | 'fire' | 'resume'; readonly filter: TimerFilter }
  | {
      readonly action: 'move'
      readonly filter: TimerFilter
      readonly in?: Duration
      readonly at?: number | string
    }
  | { readonly action: 'pause'; readonly filter: TimerFilter; readonly note?: string }
  | { readonly action: 'redrive' | 'discard'; readonly filter: DeadFilter }
)

/** How far a job of a server has come. */
export interface JobAnswer {
  readonly id: string
  readonly action: JobInput['action']
  readonly namespace: string
  readonly state: 'counting' | 'running' | 'stopping' | 'done' | 'stopped' | 'failed'
  readonly by: string
  readonly member: string
  readonly startedAt: number
  readonly endedAt?: number
  readonly found: number
  readonly processed: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly perSecond?: number
  readonly code?: string
  readonly detail?: string
}

/** A timer after an edit. */
export interface EditAnswer {
  readonly outcome: 'edited'
  /** The new handle. */
  readonly handle: string
  readonly dueAt: number
  readonly revision?: number
}

/** The instances and the shards of a store. */
export interface ClusterAnswer {
  readonly self: string
  readonly at: number
  readonly members: readonly {
    readonly id: string
    readonly isAnswering: boolean
    readonly state: 'ready' | 'not-ready' | 'unreached'
    readonly faults: readonly string[]
    readonly version?: string
    readonly host?: string
    readonly upSince?: number
    readonly clockOffsetMs?: number
    readonly memoryBytes?: number
    readonly shards: readonly number[]
    readonly inMemory?: number
    readonly inFlight?: number
  }[]
  readonly shards: readonly {
    readonly shard: number
    readonly owner: string
    readonly isOwned: boolean
    readonly epoch: number
    readonly leaseUntil: number
    readonly readPosition: number
    readonly settledPosition: number
    readonly hasRequests: boolean
    readonly inMemory?: number
    readonly inFlight?: number
    readonly queued?: number
    readonly windowMs?: number
    readonly behindMs?: number
  }[]
}
