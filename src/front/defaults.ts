/** The defaults and limits of the front door, by concern. Options override those that say "unless". */

/** What `openTimers` does without options. docs/timers.md has the same values in its table. */
export const timersDefaults = Object.freeze({
  namespace: 'default',
  history: 'failures',
  historyRetention: '7d',
  tracing: false,
  precision: 'normal',
  lease: '30s',
  callTimeout: '10s',
} as const)

/** The part of `stopMs` after which threads of handlers are ended. What is left is for storing the outcomes. */
export const THREADS_STOP_AT = 0.75

// ---- calls

/** The longest timeout of a call. */
export const MAX_CALL_MS = 86_400_000

// ---- pauses

export const MAX_PAUSE_NOTE_LENGTH = 500

// ---- edits

/** A timer that is due sooner is not edited: it could start before the edit arrives. */
export const EDIT_MARGIN_MS = 5000
/** How long an edit may take. Shorter than the margin. */
export const EDIT_TIMEOUT_MS = 4000

// ---- kinds and handlers

/** Attempts of a kind at once, in each instance, unless the kind says otherwise. */
export const CONCURRENCY = 1000
/** The same for `handleMany`, which is called with batches. */
export const CONCURRENCY_OF_BATCHES = 50_000

/** Threads of a handler module, unless `handle` says otherwise. */
export const HANDLER_THREADS = 1

// ---- setting

/** A call with fewer rows is not worth the columns of a plain set. */
export const MIN_PLAIN_ROWS = 16

// ---- firing windows

export const MAX_SLICES_OF_WINDOW = 600
export const MAX_WINDOWS_IN_MEMORY = 1000
/** How long a forecast is used. Timers placed meanwhile are added to it. */
export const FORECAST_FRESH_MS = 10_000
/** A forecast is expensive in a large store. In the long run, reading takes at most this part of the time. */
export const FORECAST_TIME_SHARE = 1 / 20
/** How much reading time can be saved up for later. */
export const FORECAST_MAX_SAVED_MS = 1000

// ---- quotas

/** A count may be this old while the use is far from the limit. */
export const QUOTA_FAR_MS = 30_000
/** A count may be this old near the limit. */
export const QUOTA_NEAR_MS = 1000
/** Above this part of the limit, the use is near it. */
export const QUOTA_NEAR = 0.8
/** Dead letters count, too. They are read in pages of this size, each for at most this long. */
export const DEAD_LETTERS_PER_READ = 1000
export const DEAD_READ_MS = 20
/** Far from the limit, counting takes at most 1/100 of the time. */
export const QUOTA_FAR_SPACING = 100
export const QUOTA_NEAR_SPACING = 10

// ---- reading and changing many

export const PAGE_ITEMS = 100
export const MAX_PAGE_ITEMS = 10_000
/** A page of a list ends after about this time, and may then be short: the rest follows by its cursor. */
export const LIST_BUDGET_MS = 100
/** A page looks at so many timers before its budget counts. */
export const MIN_BUDGETED_TIMERS = 2000
/** How many timers `count` counts in one call, and the most that a caller may ask for. */
export const COUNTED_AT_MOST = 10_000
export const MAX_COUNTED = 100_000
export const MAX_KEY_PART = 512
/** A timer that fires is due, by the store's clock. This process's clock may be this much behind. */
export const FIRING_TOLERANCE_MS = 60_000
/** A timer that is due for longer than this and has not started is overdue: `get` and `list` say why. */
export const OVERDUE_MS = 1000
export const MAX_FORECAST_SLICES = 10_000
/** How many events `why` reads, about. */
export const MAX_EVENTS_OF_WHY = 1000
/** Calls on many timers read and change them in batches of this size. */
export const BATCH_ROWS = 1000

// ---- drain

export const DRAIN_TIME = '10s'
/** How often a drain checks whether due timers are left. */
export const DRAIN_CHECK_MS = 5

// ---- worker leases and targets

/** A store of mode `claim` needs about this long to find due timers. */
export const CLAIM_MS = 250
export const MAX_LEASED_AT_ONCE = 1000
export const MAX_LEASE_WAIT_MS = 3_600_000
export const MAX_REASON_LENGTH = 1000
export const MAX_KINDS = 10_000
export const MAX_TARGETS = 10_000

// ---- history

export const MIN_PRUNE_MS = 600_000
export const MAX_PRUNE_MS = 86_400_000

// ---- logging

/** Longer payloads are not logged, only their length. */
export const MAX_LOGGED_CHARACTERS = 2000

// ---- timers of a server

/** The server's longest page. */
export const MAX_PAGE_ITEMS_OF_SERVER = 1000
/** How long a request for due firings waits at the server. */
export const REMOTE_WAIT_MS = 20_000
export const REMOTE_MIN_PAUSE_MS = 200
export const REMOTE_MAX_PAUSE_MS = 5000
/** How many requests with answers for leases are under way at once. */
export const REMOTE_ANSWERS_AT_ONCE = 4
/** A worker lease is extended once this part of it is over. */
export const REMOTE_EXTEND_AFTER = 1 / 3
/** How long `stop` waits for handlers. After half of it, their signals are aborted. */
export const REMOTE_STOP_MS = 30_000

// ---- warnings

/** Without a logger: the least time between two warnings on the console that have the same cause. */
export const CONSOLE_REPEAT_MS = 60_000
/** With a logger: the least time between two warnings about the same call to a store that is down. */
export const STORE_WARNING_REPEAT_MS = 10_000
/** How many causes are remembered. */
export const MOST_WARNING_CAUSES = 1000

/** How many dead letters of a key are read to find out whether its timer has ended with one. */
export const DEAD_LETTERS_OF_A_KEY = 100
