import type { LeaseTarget } from './lease/lease.js'
import type { Webhook } from './webhook/webhook.js'

/** Timers of a kind are reported as events, written to the log, and done. */
export interface LogTarget {
  readonly type: 'log'
}

/** Where the timers of a kind go instead of a function: checked, with all defaults filled in. */
export type Target = Webhook | LeaseTarget | LogTarget

/** For trying things out: timers are reported and logged, and nothing else happens. */
export function log(): LogTarget {
  return Object.freeze({ type: 'log' as const })
}
