import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { MAX_PAGE_ROWS } from './load/window.js'
import { MIN_TIMERS } from './defaults.js'

/** How an engine behaves. Every setting has a default, and its name carries its unit. */
export interface EngineSettings {
  /**
   * `preload` keeps a window of future timers in memory; `lookahead` only those that are due within a second. `claim` owns
   * no shards and claims due rows, for stores that were made for it.
   */
  readonly strategy: 'preload' | 'lookahead' | 'claim'
  /** preload: how far ahead of now timers are loaded. */
  readonly windowMs: number
  /** preload: the window never becomes shorter than this. */
  readonly minWindowMs: number
  /** lookahead: how far ahead of now a load reaches. */
  readonly lookaheadMs: number
  /** lookahead: the time between loads if no timer needs an earlier one, and its bounds. */
  readonly loadIntervalMs: number
  readonly minLoadIntervalMs: number
  readonly maxLoadIntervalMs: number
  /** claim: the longest time between two calls for due rows. */
  readonly pollMs: number
  /** claim: the shortest time between two calls for due rows, and between two settlements. */
  readonly spacingMs: number
  /** claim: the most rows that one call claims. */
  readonly claimRows: number
  /** The most timers of a shard, and about the most bytes, held in memory. */
  readonly maxTimers: number
  readonly maxBytes: number
  /** The most rows in one load. */
  readonly pageRows: number
  readonly pageBytes: number
  /** The most operations in one write. */
  readonly writeBatch: number
  /** How many operations may wait to be written. More are refused. */
  readonly maxQueued: number
  /** Outcomes are settled after this long or this many, whichever comes first. */
  readonly settleMs: number
  readonly settleCount: number
  /** A row that is unfinished after this long is carried, so that it no longer holds the settled level back. */
  readonly carryAfterMs: number
  /** The longest time between physical range deletions. It is a sixth of that if there are many rows to delete. */
  readonly sweepMs: number
  /** A finished timer is remembered for at least this long, within the bounds of `maxOutcomes` and `maxOutcomeBytes`. */
  readonly outcomesMs: number
  /** About the most finished timers that the store remembers, and the most bytes of them. */
  readonly maxOutcomes: number
  readonly maxOutcomeBytes: number
  /** How long a shard is owned without a renewal. With `claim`: how long a row is claimed. */
  readonly leaseMs: number
  /** An owner considers its lease over this much earlier than the store does. */
  readonly leaseMarginMs: number
  /** Time between two checks of which shards to acquire or release. */
  readonly acquireMs: number
  readonly heartbeatMs: number
  /** An instance whose clock differs from the store's by more than this warns, and releases its shards. */
  readonly maxClockOffsetMs: number
  /** Time between two reads of the inbox if no wake-up comes. */
  readonly inboxPollMs: number
  /** How long to wait for the answer of another owner. */
  readonly requestTimeoutMs: number
  /** Time before a failed call to the store is retried. It doubles each time, up to ten times the value. */
  readonly retryMs: number
  /** Due timers that did not start for this long are reported as stalled. */
  readonly stallMs: number
  /** How long `stop` waits for attempts under way. A rebalance waits as long before it hands them over. */
  readonly stopMs: number
  /** Attempts under way at once for one kind, unless the kind says otherwise. */
  readonly concurrency: number
}

/** The default of each setting. */
export const engineDefaults: EngineSettings = Object.freeze({
  strategy: 'preload',
  windowMs: 270_000,
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
  pageRows: 30_000,
  pageBytes: 16 * 1024 * 1024,
  writeBatch: 10_000,
  maxQueued: 100_000,
  settleMs: 1000,
  settleCount: 10_000,
  carryAfterMs: 5000,
  sweepMs: 180_000,
  outcomesMs: 3_600_000,
  maxOutcomes: 100_000,
  maxOutcomeBytes: 64 * 1024 * 1024,
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
  // A load fills four fifths of memory. With fewer rows, rounding makes that so much that the rows are dropped again.
  if (settings.maxTimers < MIN_TIMERS) {
    throw new InvalidInputError(
      'invalid-option',
      `maxTimers must be at least ${MIN_TIMERS}, got ${settings.maxTimers}`,
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
