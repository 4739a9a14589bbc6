import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { MAX_PAGE_ROWS } from './window.js'

/** How an engine behaves. All of it has a default; names carry their units. */
export interface EngineSettings {
  /**
   * `preload` keeps a window of future timers in memory; `lookahead` only what is due within a second. `claim` owns
   * nothing and leases what is due, for stores that were made for it.
   */
  readonly strategy: 'preload' | 'lookahead' | 'claim'
  /** preload: how far ahead of now timers are loaded. */
  readonly windowMs: number
  /** preload: the window is never shrunk below this. */
  readonly minWindowMs: number
  /** lookahead: how far ahead of now a load reaches. */
  readonly lookaheadMs: number
  /** lookahead: the time between loads when nothing calls for an earlier one, and its bounds. */
  readonly loadIntervalMs: number
  readonly minLoadIntervalMs: number
  readonly maxLoadIntervalMs: number
  /** claim: the longest time between two looks for what is due. */
  readonly pollMs: number
  /** claim: the shortest time between two looks, and between two settlements. */
  readonly spacingMs: number
  /** claim: the most rows leased by one call. */
  readonly claimRows: number
  /** The most timers of a shard, and about the most bytes, held in memory. */
  readonly maxTimers: number
  readonly maxBytes: number
  /** The most rows in one load. */
  readonly pageRows: number
  readonly pageBytes: number
  /** The most operations in one write. */
  readonly writeBatch: number
  /** Operations that may wait to be written; beyond them callers are refused. */
  readonly maxQueued: number
  /** Outcomes are settled after this long or this many, whichever comes first. */
  readonly settleMs: number
  readonly settleCount: number
  /** A row unfinished after this long no longer holds the level back: it is carried. */
  readonly carryAfterMs: number
  /** Time between physical range deletions. */
  readonly sweepMs: number
  /** How long a shard is owned without a renewal; with `claim`, a row. */
  readonly leaseMs: number
  /** An owner considers its lease over this much earlier than the store does. */
  readonly leaseMarginMs: number
  /** Time between looks at which shards to claim or let go. */
  readonly acquireMs: number
  readonly heartbeatMs: number
  /** An instance whose clock is off from the store's by more than this warns and claims nothing. */
  readonly maxClockOffsetMs: number
  /** Time between looks at the inbox when no wake-up came. */
  readonly inboxPollMs: number
  /** How long a request to another owner is waited for. */
  readonly requestTimeoutMs: number
  /** Time before a failed call to the store is tried again, doubled each time up to ten times it. */
  readonly retryMs: number
  /** Due timers that did not start for this long are reported as stalled. */
  readonly stallMs: number
  /** How long `stop` waits for attempts under way. */
  readonly stopMs: number
  /** Attempts under way at once for one kind, unless the kind says otherwise. */
  readonly concurrency: number
}

export const engineDefaults: EngineSettings = Object.freeze({
  strategy: 'preload',
  windowMs: 120_000,
  minWindowMs: 1000,
  lookaheadMs: 1000,
  loadIntervalMs: 5000,
  minLoadIntervalMs: 1000,
  maxLoadIntervalMs: 30_000,
  pollMs: 1000,
  spacingMs: 5,
  claimRows: 1000,
  maxTimers: 1_000_000,
  maxBytes: 512 * 1024 * 1024,
  pageRows: 20_000,
  pageBytes: 16 * 1024 * 1024,
  writeBatch: 10_000,
  maxQueued: 100_000,
  settleMs: 1000,
  settleCount: 10_000,
  carryAfterMs: 5000,
  sweepMs: 30_000,
  leaseMs: 10_000,
  leaseMarginMs: 1000,
  acquireMs: 2000,
  heartbeatMs: 2000,
  maxClockOffsetMs: 500,
  inboxPollMs: 1000,
  requestTimeoutMs: 10_000,
  retryMs: 100,
  stallMs: 10_000,
  stopMs: 10_000,
  concurrency: 10_000,
})

/** The defaults with `given` over them, every value checked. */
export function engineSettings(given: Partial<EngineSettings> = {}): EngineSettings {
  checkOptions('the engine', given, Object.keys(engineDefaults))
  const settings = { ...engineDefaults, ...given }
  if (!['preload', 'lookahead', 'claim'].includes(settings.strategy)) {
    throw new InvalidInputError(
      'invalid-option',
      `strategy must be 'preload', 'lookahead' or 'claim', got ${shown(settings.strategy)}`,
    )
  }
  for (const [name, value] of Object.entries(settings)) {
    if (name === 'strategy' || (typeof value === 'number' && value >= 1)) continue
    throw new InvalidInputError(
      'invalid-option',
      `${name} must be a number of at least 1, got ${shown(value)}`,
    )
  }
  if (settings.pageRows > MAX_PAGE_ROWS) {
    throw new InvalidInputError(
      'invalid-option',
      `pageRows must be at most ${MAX_PAGE_ROWS}, got ${settings.pageRows}`,
    )
  }
  if (settings.leaseMarginMs * 2 > settings.leaseMs) {
    throw new InvalidInputError(
      'invalid-option',
      `leaseMarginMs must be at most half of leaseMs (${settings.leaseMs}), got ${settings.leaseMarginMs}`,
    )
  }
  return settings
}
