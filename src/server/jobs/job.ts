import type { PauseOptions, Timers, TimerQuery, When } from '../../front/index.js'
import type { CarillonError } from '../../error/index.js'

/** Which dead letters a job changes. At least one condition. */
export interface DeadFilter {
  readonly kind?: string
  readonly key?: string
  /** The reason of a group, in which numbers, ids and quoted values are `…`. */
  readonly reason?: string
  readonly diedFrom?: number
  readonly diedUntil?: number
  readonly all?: true
}

/** What a job does. */
export type JobTask =
  | { readonly action: 'cancel' | 'fire' | 'resume'; readonly filter: TimerQuery }
  | { readonly action: 'move'; readonly filter: TimerQuery; readonly when: When }
  | { readonly action: 'pause'; readonly filter: TimerQuery; readonly pause: PauseOptions }
  | { readonly action: 'redrive' | 'discard'; readonly filter: DeadFilter }

type JobState = 'counting' | 'running' | 'stopping' | 'done' | 'stopped' | 'failed'

/** A change to everything that matches a filter, as callers see it. */
export interface Job {
  readonly id: string
  readonly action: JobTask['action']
  readonly namespace: string
  readonly state: JobState
  /** The name of the API key. */
  readonly by: string
  /** The instance that runs it. If that instance stops, so does the job. */
  readonly member: string
  readonly startedAt: number
  readonly endedAt?: number
  readonly found: number
  readonly processed: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly perSecond?: number
  /** Why it failed, or why the last of the failed changes did. */
  readonly code?: CarillonError['code']
  readonly detail?: string
}

export interface JobRequest {
  readonly task: JobTask
  readonly timers: Timers
  readonly namespace: string
  readonly by: string
  readonly perSecond: number | undefined
}
