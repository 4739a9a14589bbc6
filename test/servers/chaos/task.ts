import type { EngineSettings } from 'carillon/engine'
import type { Strategy } from 'carillon/store'
import type { Plant } from './told-store.js'

/** What an instance is told at its birth. */
export interface Task {
  /** Its own, unlike that of any other life. */
  readonly name: string
  readonly url: string
  readonly seed: number
  /** Timers to set in a second. */
  readonly rate: number
  readonly engine: Partial<EngineSettings>
  readonly plant: Plant
}

/** Short times, so that much happens in few seconds. */
export const engine = {
  leaseMs: 1500,
  leaseMarginMs: 300,
  acquireMs: 200,
  heartbeatMs: 300,
  retryMs: 50,
  settleMs: 200,
  sweepMs: 2000,
  inboxPollMs: 500,
  requestTimeoutMs: 5000,
  // Shorter than the farthest timers, so that they have to be loaded.
  windowMs: 1500,
  minWindowMs: 500,
} satisfies Partial<EngineSettings>

/** The strategies that are tried, each with the kind of store that it wants. */
export const strategies: Readonly<
  Record<string, { readonly store: Strategy; readonly engine: Partial<EngineSettings> }>
> = {
  preload: { store: 'owned', engine: { ...engine, strategy: 'preload' } },
  lookahead: { store: 'owned', engine: { ...engine, strategy: 'lookahead' } },
  claim: { store: 'claim', engine: { ...engine, strategy: 'claim' } },
}
