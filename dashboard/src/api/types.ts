/** The answers of the API, as docs/server.md and the OpenAPI document describe them. Instants are epoch milliseconds. */

export type Scope = 'read' | 'write' | 'admin'

export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly scope: Scope
  readonly namespace?: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly lastUsedAt?: number
}

export interface WhoAmI {
  readonly key: ApiKey
  readonly namespace: string
  readonly needsKey: boolean
  readonly server: {
    readonly version: string
    readonly member: string
    readonly store: string
    readonly strategy: string
  }
}

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly cursor?: string
}

export interface Pause {
  readonly note?: string
  readonly since?: number
  readonly by?: string
}

export interface Cause {
  readonly code: string
  readonly text: string
  readonly remedy: string
}

// ---- overview

interface Counts {
  readonly pending: number
  readonly overdue: number
  readonly oldestDueAt?: number
  readonly waiting: number
  readonly inFlight: number
  readonly retrying: number
  readonly paused: number
  readonly dead: number
}

export interface KindOverview extends Counts {
  readonly kind: string
  readonly isOverdueExact: boolean
  readonly pause?: Pause
  readonly target?: { readonly type: TargetType; readonly version: number; readonly url?: string }
  readonly breaker?: 'open' | 'gone' | 'refused'
  readonly handledBy: readonly string[]
  readonly perSecond: Readonly<Record<'fired' | 'done' | 'failed' | 'dead' | 'set', number>>
  readonly lateness?: { readonly p50Ms: number; readonly p99Ms: number }
}

export interface Overview {
  readonly at: number
  readonly namespace: string
  readonly isAllPaused: boolean
  readonly allPause?: Pause
  readonly totals: Counts
  readonly kinds: readonly KindOverview[]
  readonly moreKinds: boolean
  readonly counted: { readonly state: 'none' | 'running' | 'done'; readonly countedAt?: number }
  readonly instances: Answered
}

interface Answered {
  readonly known: number
  readonly answered: number
}

interface SeriesPoint {
  readonly at: number
  readonly set: number
  readonly fired: number
  readonly done: number
  readonly failed: number
  readonly dead: number
  readonly p50Ms?: number
  readonly p99Ms?: number
}

export interface Series {
  readonly stepMs: number
  readonly fromInclusive: number
  readonly untilExclusive: number
  readonly points: readonly SeriesPoint[]
  readonly instances: Answered
}

// ---- timers

type TimerState = 'waiting' | 'firing' | 'paused' | 'settled'

export interface Timer {
  readonly namespace: string
  readonly kind: string
  readonly key: string
  readonly handle: string
  readonly revision: number
  readonly state: TimerState
  readonly settled?: {
    readonly outcome: 'done' | 'dead' | 'missed'
    readonly at: number
    readonly reason?: string
  }
  readonly dueAt: number
  readonly createdAt: number
  readonly attempts: number
  readonly occurrence: number
  readonly payload?: unknown
  readonly tags: readonly string[]
  readonly fault?: string
  readonly on?: ScheduleJson
  readonly pause?: Pause
}

export interface Count {
  readonly count: number
  /** Whether all were counted. */
  readonly complete: boolean
}

export interface HistoryEvent {
  readonly at: number
  readonly event: string
  readonly kind: string
  readonly key: string
  readonly dueAt?: number
  readonly attempt?: number
  readonly occurrence?: number
  readonly outcome?: string
  readonly durationMs?: number
  readonly latenessMs?: number
  readonly reason?: string
  readonly from?: string
  readonly to?: string
  readonly nextDueAt?: number
}

export interface DeadLetter {
  readonly id: string
  readonly kind: string
  readonly key: string
  readonly dueAt: number
  readonly diedAt: number
  readonly reason: string
  readonly attempts: number
  readonly payload?: unknown
}

export interface Why {
  readonly timer?: Timer
  readonly events: readonly HistoryEvent[]
  readonly dead: readonly DeadLetter[]
  readonly told: readonly string[]
  readonly causes: readonly Cause[]
}

export interface DeadGroup {
  readonly kind: string
  readonly reason: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  readonly sampleId: string
  readonly slices: readonly number[]
}

export interface DeadGroups {
  readonly groups: readonly DeadGroup[]
  readonly fromInclusive: number
  readonly sliceMs: number
  readonly total: number
  readonly isComplete: boolean
  readonly countedAt: number
}

export type JobAction = 'cancel' | 'move' | 'fire' | 'pause' | 'resume' | 'redrive' | 'discard'

export interface Job {
  readonly id: string
  readonly action: JobAction
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

// ---- schedules

/** A schedule as it is stored: `type` and the fields of that type. */
export type ScheduleJson = { readonly type: string; readonly zone?: string } & Readonly<
  Record<string, unknown>
>

export interface Occurrence {
  readonly at: number
  readonly local: string
  readonly offset: string
  readonly reasons: readonly string[]
}

export interface Preview {
  readonly description: string
  readonly schedule: ScheduleJson
  readonly occurrences: readonly Occurrence[]
}

export interface ScheduleRow {
  readonly kind: string
  readonly key: string
  readonly handle: string
  readonly revision: number
  readonly on: ScheduleJson
  readonly description: string
  readonly zone?: string
  readonly nextAt: number
  readonly lastAt?: number
  readonly occurrence: number
  readonly state: TimerState
  readonly attempts: number
  readonly missed?: number
  readonly pause?: Pause
  readonly lastOutcomes: readonly { readonly at: number; readonly event: string; readonly reason?: string }[]
}

export interface Forecast {
  readonly fromInclusive: number
  readonly sliceMs: number
  readonly overdue: Readonly<Record<string, number>>
  readonly kinds: readonly { readonly kind: string; readonly counts: readonly number[] }[]
  readonly others: readonly number[]
}

// ---- cluster, targets, keys

export interface Member {
  readonly id: string
  readonly address?: string
  readonly version?: string
  readonly host?: string
  readonly upSince?: number
  readonly clockOffsetMs?: number
  readonly memoryBytes?: number
  readonly shards: readonly number[]
  readonly inFlight?: number
  readonly inMemory?: number
  readonly state: 'ready' | 'not-ready' | 'draining' | 'unreached'
  readonly faults: readonly string[]
}

export interface Shard {
  readonly shard: number
  readonly owner: string
  readonly isOwned: boolean
  readonly epoch: number
  readonly leaseUntil: number
  readonly readPosition: number
  readonly settledPosition: number
  readonly inboxBusy: boolean
  readonly inMemory?: number
  readonly inFlight?: number
  readonly queued?: number
  readonly windowMs?: number
  readonly behindMs?: number
}

export interface Cluster {
  readonly self: string
  readonly at: number
  readonly store: string
  readonly strategy: string
  readonly members: readonly Member[]
  readonly shards: readonly Shard[]
}

export interface Leases {
  readonly leases: readonly {
    readonly kind: string
    readonly key: string
    readonly id: string
    readonly leasedAt: number
    readonly leaseUntil: number
    readonly attempt: number
    readonly member: string
    readonly receipt?: string
  }[]
  readonly waiting: readonly {
    readonly kinds: readonly string[]
    readonly member: string
    readonly since: number
  }[]
}

export interface MaintenanceJob {
  readonly what: 'backup' | 'compact' | 'verify'
  readonly state: 'running' | 'done' | 'failed'
  readonly startedAt: number
  readonly endedAt?: number
  readonly name?: string
  readonly bytesBefore?: number
  readonly bytes?: number
  readonly progress?: Readonly<Record<string, number>>
  readonly found?: { readonly rows: number; readonly damageCount: number }
  readonly detail?: string
}

export type TargetType = 'webhook' | 'lease' | 'log'

export interface Target {
  readonly kind: string
  readonly version: number
  readonly type: TargetType
  readonly url?: string
  readonly secretIds?: readonly string[]
  readonly headerNames?: readonly string[]
  readonly timeout?: number | string
  readonly concurrency?: number
  readonly rate?: number
  readonly duration?: number | string
  readonly health?: {
    readonly state: string
    readonly failures?: number
    readonly lastAnswers: readonly {
      readonly at: number
      readonly status?: number
      readonly ms?: number
      readonly error?: string
    }[]
  }
}

export interface Quota {
  readonly maxTimers?: number
  readonly maxBytes?: number
  readonly used?: { readonly timers: number; readonly bytes: number }
  readonly countedAt?: number
}

export interface NamespaceInfo {
  readonly namespace: string
  readonly kinds: number
  readonly pending?: number
  readonly dead?: number
  readonly overdue?: number
  readonly quota?: Quota
}

export interface AuditEntry {
  readonly id: string
  readonly at: number
  readonly action: string
  readonly outcome: string
  readonly subject?: string
  readonly namespace?: string
  readonly details?: Readonly<Record<string, string | number | boolean>>
  readonly key: { readonly id: string; readonly name: string }
  readonly from: string
}

/** An event of the live stream. */
export interface LiveEvent {
  readonly type: string
  readonly namespace?: string
  readonly kind?: string
  readonly key?: string
  readonly at?: number
  readonly member?: string
  readonly attempt?: number
  readonly dueAt?: number
  readonly latenessMs?: number
  readonly durationMs?: number
  readonly outcome?: string
  readonly reason?: string
  readonly shard?: number
}
