import type { EngineSettings } from 'carillon/engine'
import type { StoreMode } from 'carillon/store'
import type { LoadName } from './work.js'
import type { Plant } from './reporting-store.js'

/** What an instance is given when its process starts. */
export interface Task {
  /** Unique: no other process of the run has it. */
  readonly name: string
  readonly url: string
  readonly seed: number
  /** How many timers it sets per second; 0 if it sets only those that it is asked to set. */
  readonly rate: number
  readonly engine: Partial<EngineSettings>
  readonly plant: Plant
  /** How many attempts every timer may have. */
  readonly attempts: number
  /** Whether it has handlers. Without them it owns shards but starts no attempts. Default true. */
  readonly handles?: boolean
  /** What the handlers of its own timers do. */
  readonly loads: readonly LoadName[]
  readonly pace: Pace
  /**
   * The machine's monotonic clock plus this is the right wall time, even if the wall clock of this process is wrong.
   */
  readonly epochMs: number
}

/** How long engines wait, and how long handlers take compared with that. */
export interface Pace {
  readonly engine: Partial<EngineSettings>
  readonly leaseMs: number
  readonly acquireMs: number
  readonly heartbeatMs: number
  readonly stopMs: number
  readonly carryAfterMs: number
  /**
   * The shortest and the longest time of a long handler: from well within the lease to far beyond lease,
   * `carryAfterMs` and `stopMs`.
   */
  readonly shortestMs: number
  readonly longestMs: number
}

/** Short times, so that much happens in few seconds. */
const engine = {
  leaseMs: 1500,
  leaseMarginMs: 300,
  acquireMs: 200,
  heartbeatMs: 300,
  retryMs: 50,
  settleMs: 200,
  sweepMs: 2000,
  inboxPollMs: 500,
  requestTimeoutMs: 5000,
  carryAfterMs: 700,
  stopMs: 1500,
  // Shorter than the farthest timers, so that they have to be loaded.
  windowMs: 1500,
  minWindowMs: 500,
} satisfies Partial<EngineSettings>

/** `quick` has about a seventh of the default times. `default` has the defaults of an engine. */
export const paces = {
  quick: {
    engine,
    leaseMs: engine.leaseMs,
    acquireMs: engine.acquireMs,
    heartbeatMs: engine.heartbeatMs,
    stopMs: engine.stopMs,
    carryAfterMs: engine.carryAfterMs,
    shortestMs: 150,
    longestMs: 6000,
  },
  default: {
    engine: {},
    leaseMs: 10_000,
    acquireMs: 2000,
    heartbeatMs: 2000,
    stopMs: 10_000,
    carryAfterMs: 5000,
    shortestMs: 1000,
    longestMs: 40_000,
  },
} as const satisfies Record<string, Pace>
export type PaceName = keyof typeof paces

/** The strategies that are tried, each with the store mode that it needs. */
export const strategies: Readonly<
  Record<string, { readonly store: StoreMode; readonly strategy: EngineSettings['strategy'] }>
> = {
  preload: { store: 'owned', strategy: 'preload' },
  lookahead: { store: 'owned', strategy: 'lookahead' },
  claim: { store: 'claim', strategy: 'claim' },
}
