import type { LeaseTarget } from './lease/lease.js'
import type { Webhook } from './webhook/webhook.js'

/** Timers of a kind are told to whoever listens and written to the log, and are done. */
export interface LogTarget {
  readonly type: 'log'
}

/** Where the timers of a kind go, instead of to a function: checked and complete. */
export type Target = Webhook | LeaseTarget | LogTarget

/** For trying things out: timers are told and logged, and nothing else comes of them. */
export function log(): LogTarget {
  return Object.freeze({ type: 'log' as const })
}
