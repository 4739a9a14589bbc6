/** The tunables of the engine that are no settings, by folder. `settings.ts` has those that a user can change. */

// ---- cluster

/**
 * A member that did not take its shard is excluded for this many times as long as a heartbeat is remembered: at first,
 * and at most.
 */
export const MIN_EXCLUSION_FACTOR = 4
export const MAX_EXCLUSION_FACTOR = 32
/**
 * Between heartbeats the monotonic clock is assumed to run faster than the store's clock by at most this. It is the rate
 * at which time daemons correct clocks.
 */
export const EXPECTED_DRIFT = 5e-4
/** The most that it may run faster or slower: by this much an earlier measurement is worth less than a new one. */
export const MAX_DRIFT = 2e-3
/** A slow answer says little, so the best of this many measurements counts. */
export const CLOCK_MEASUREMENTS = 3

/** A heartbeat names at most this many kinds. An instance that handles more publishes whole namespaces. */
export const MAX_PUBLISHED_KINDS = 500

// ---- offer

/** How many due timers of a kind may be offered to one member and not be reported: at first, and at most. */
export const FIRST_CREDIT = 256
export const MAX_CREDIT = 4096
/** A credit is lowered at most once in this time. */
export const CREDIT_STEP_MS = 1000
/** A member that gave back a timer gets no more of its kind for this long: at first, and at most. */
export const MIN_HOLD_OFF_MS = 250
export const MAX_HOLD_OFF_MS = 5000
/** A notification is repeated after this long. The time doubles up to the longest. */
export const RENOTIFY_MS = 1000
export const MAX_RENOTIFY_MS = 16_000
/** A timer that was offered and could not be started for this long is given back. */
export const OFFER_PATIENCE_MS = 2000
/** The most names in one message, and the most messages that are taken at once. */
export const NAMES_IN_MESSAGE = 500
export const MESSAGES_AT_ONCE = 20
/** The most reports in one call. */
export const REPORTS_AT_ONCE = 1000

// ---- own

/** How long the store remembers that a report was answered: at first, and at most. */
export const REMEMBERED_MS = 60_000
export const MAX_REMEMBERED_MS = 86_400_000
/** A lease that ends later than this many times `leaseMs` from now was granted by a clock that was ahead. */
export const MAX_LEASE_FACTOR = 2

/** The longest lease of an instance that takes a shard only to apply its inbox. */
export const VISIT_LEASE_MS = 3000

// ---- load

/** Above this part of `maxTimers` or `maxBytes` the window is shortened. */
export const TIGHT = 0.95
/** Loads fill memory only up to this part. Otherwise they would undo what shortening did. */
export const FILL = 0.8
/** Below this part the window grows back. */
export const CROWDED = 0.6
/** When memory is crowded, due timers that cannot start may use this part of it. */
export const BLOCKED = 0.2
/** What the window is multiplied by when it is shortened. */
export const SHORTEN_FACTOR = 0.8
/** The least `maxTimers`: from here on a load (`FILL`) never brings as many rows as shorten the window (`TIGHT`). */
export const MIN_TIMERS = 5
/** After more empty loads than this in a row, `lookahead` doubles its interval with each. */
export const EMPTY_LOADS_AT_FULL_PACE = 3
/** A row that was put back stays away for as long as it has been overdue, within these bounds. */
export const MIN_AWAY_MS = 10_000
export const MAX_AWAY_MS = 300_000
/** Blocked timers are put back before the next settlement is due once they exceed their limit by this factor. */
export const EARLY_PUT_BACK_FACTOR = 1.5
/** About what a row costs in memory beyond its payload and names. */
export const WINDOW_ROW_BYTES = 200

// ---- fire

/**
 * Due timers go to their handlers in batches of this size before the next are taken from the wheel. The objects made for
 * one batch are few enough to stay in the cache, and are dead before the next garbage collection.
 */
export const DUE_AT_ONCE = 1000
/**
 * Within one delivery, a lease that was checked is not checked again for this long. That is less than the margin of every
 * lease. Reading three clocks for each of a million starts a second costs more than starting them.
 */
export const CHECKED_FOR_MS = 1
/** The throughput of a lane is measured over at least this time. */
export const MEASURE_MS = 1000
/** An older measurement says nothing about now. */
export const FORGET_AFTER_MS = 10_000
/** Handlers may block the event loop this long before renewals, settlements and requests get their turn. */
export const START_BUDGET_MS = 10
/** Handlers of which this many have started in that time are quick: other kinds need not overtake them. */
export const QUICK_STARTS = 2000
/** Below this it is not worth waiting for the end of the turn. */
export const IGNORED_BELOW_MS = 2

// ---- settle

/** Once the backlog reaches this part of `settleCount`, and no outcome has arrived for `QUIET_MS`, settle early. */
export const EARLY_SETTLE_PART = 0.1
export const QUIET_MS = 20
/** A small `settleCount` makes settlements frequent. It does not make them small: each takes at least this many rows. */
export const MIN_SETTLEMENT_ROWS = 1000
/** What the clock slack grows by each time that the store's clock turns out to be behind ours. */
export const CLOCK_SLACK_STEP_MS = 50
/**
 * Due timers that have not started for this long count as behind. If the store has time to spare, timers start within
 * milliseconds.
 */
export const BEHIND_MS = 100
/** If finished rows are left that the level has not passed, the next settlement comes within this time. */
export const LEFT_DONE_MS = 1000
/** So many finished rows of a shard, or half of what it may remember, are worth a sweep after this part of `sweepMs`. */
export const MANY_FORGETTABLE_ROWS = 50_000
export const EARLY_SWEEP_PART = 1 / 6
/** Rewritten and removed rows of this many bytes are worth a sweep before its time. */
export const URGENT_SWEEP_BYTES = 16 << 20
/** About the size of a stored row without its payload. */
export const STORED_ROW_BYTES = 256
