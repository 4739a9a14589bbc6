import { systemClock } from '../time/index.js'

/** What a server does without options. docs/server.md has the same values in its table. */
export const defaultOptions = Object.freeze({
  host: '127.0.0.1',
  port: 7750,
  auth: true,
  rate: 10_000,
  maxBodyBytes: 1_048_576,
  requestTimeoutMs: 60_000,
  callTimeoutMs: 10_000,
  corsOrigins: [],
  history: 'failures',
  engine: {},
  handlers: [],
  tracing: false,
  guard: {},
  forwarding: true,
  clock: systemClock,
} as const)

// ---- API keys

/** How soon this instance learns of keys that another instance made or revoked. */
export const KEY_REFRESH_MS = 2000
/** An unknown key makes the server read the store again, but not more often than this. */
export const UNKNOWN_KEY_REFRESH_MS = 1000
export const MAX_ACTIVE_KEYS_PER_NAME = 2
/** Wrong keys from one address, per second: enough for a mistake, too few for guessing. */
export const WRONG_KEYS_PER_SECOND = 20
export const MAX_RATE_BUCKETS = 10_000

// ---- the page

/** How long a sign-in link works. */
export const SIGN_IN_LINK_MS = 600_000
/** How long the key works that it gives: a working day. */
export const SIGN_IN_KEY_TTL = '12h'
/** One more makes the oldest useless. */
export const MAX_SIGN_IN_LINKS = 16

// ---- requests

export const MAX_PARAM_LENGTH = 4096
export const MAX_JSON_DEPTH = 64
export const HEADERS_TIMEOUT_MS = 20_000
export const KEEP_ALIVE_MS = 72_000
export const MAX_BATCH_ROWS = 5000
export const MAX_BATCH_BYTES = 8_388_608
/** As many as a worker can lease at once. */
export const MAX_LEASE_BATCH_ROWS = 1000
/** How many rows with schedules batches check in a turn of the event loop: some milliseconds at most. */
export const SCHEDULES_PER_TURN = 20
/** After this many schedules that never match, a batch refuses the rest of its schedules unseen. */
export const MAX_USELESS_SCHEDULES = 100
/** How many pieces of a stream of lines are read in a turn. */
export const PIECES_PER_TURN = 256
/** How many rows of a streamed batch run together. */
export const STREAMED_BATCH_ROWS = 1000
export const MAX_LINE_LENGTH = 1_048_576
export const MAX_CACHED_KINDS = 10_000
export const MAX_OPEN_NAMESPACES = 2000
/** Namespaces open on an instance without anything in the store. One more closes the one that was not used longest. */
export const MAX_EMPTY_NAMESPACES = 200

// ---- answers kept for an Idempotency-Key

export const IDEMPOTENCY_TTL = '1d'
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255
export const MAX_KEPT_ANSWERS = 100_000
/** Batches have their own, smaller limit: each may have 5,000 answers. */
export const MAX_KEPT_BATCHES = 64
/** Workers send these often, and retry within a minute. */
export const MAX_KEPT_LEASE_BATCHES = 1000

// ---- monitoring

export const MAX_EVENT_LISTENERS = 100
/** Of these, the seats of one key. */
export const MAX_EVENT_LISTENERS_PER_KEY = 20
export const MAX_EVENT_BUFFER_LENGTH = 1_048_576
export const EVENT_PING_MS = 15_000
export const STORE_TIMEOUT_MS = 2000
/** A store that changes while it is counted may seem to lack rows, so it is counted up to this often. */
export const MAX_VERIFY_PASSES = 5
/** How long counting all rows may take. */
export const MAX_VERIFY_MS = 3_600_000

/** A warning or error with the same cause is logged once in this time, with the number of those left out. */
export const LOG_REPEAT_MS = 10_000

/** How long `/metrics` waits for the store before it answers without the store's counts. */
export const METRICS_STORE_MS = 1000
/** How many kinds have metrics of their own. */
export const MAX_METRIC_KINDS = 300
/** How many threads of handlers have. */
export const MAX_METRIC_THREADS = 300
export const LOOP_WINDOW_MS = 60_000

// ---- the audit log

export const auditLimits = Object.freeze({
  maxEntries: 2000,
  /** Entries of one namespace, or of none. */
  maxEntriesOfNamespace: 1000,
  maxBytes: 1_048_576,
  maxAgeMs: 365 * 86_400_000,
  /** Longer texts of an entry are cut. */
  maxTextLength: 256,
  /** The limits are applied after this many entries of an instance, and at its first. */
  pruneEvery: 50,
})

// ---- bulk changes

/** The most timers that one bulk change may select. */
export const MAX_BULK_TIMERS = 100_000

// ---- stopping

/** How long open requests may take when the server stops. */
export const STOP_TIMEOUT_MS = 10_000
export const STOP_POLL_MS = 20

// ---- other instances

export const PEER_TIMEOUT_MS = 10_000
export const PEER_CONNECT_TIMEOUT_MS = 2000
export const PEER_CONNECTIONS = 16
/** Shorter than `KEEP_ALIVE_MS`, so that no message goes out on a connection that the other end is closing. */
export const PEER_KEEP_ALIVE_MS = 30_000
export const MAX_PEER_MESSAGE_BYTES = 16 * 1024 * 1024
/** A member that leaves a message unanswered for this long gets no more messages until it answers. */
export const PEER_SLOW_MS = 1000
/** How many firings one message between instances may lease: their payloads must fit into a message. */
export const MAX_LEASED_PER_MESSAGE = 32
/** An instance that had no firing to lease reports the next one to the instance that asked, for this long. */
export const LEASE_WATCH_MS = 5000
/** Shorter than `LEASE_WATCH_MS`: after this time an instance that had none is asked again. */
export const LEASE_ASK_AGAIN_MS = 4000
/**
 * How long a lease lasts that another instance asked for, until that instance confirms it. If its answer gets lost, the
 * firing is leased again after this time, and not only when the whole lease has ended.
 */
export const UNCONFIRMED_LEASE_MS = 15_000
/** Of how many instances, namespaces and kinds together it is remembered that they have no firings. */
export const MAX_QUIET_NAMES = 10_000
/** A member that could not be reached gets no messages for this long. */
export const PEER_REST_MS = 5000

// ---- webhooks that a caller sets

export const MAX_WEBHOOK_CONNECTIONS = 1000
export const MAX_WEBHOOK_TIMEOUT_MS = 600_000
export const MAX_WEBHOOK_ANSWER_BYTES = 1_048_576

// ---- views of the whole cluster

/** How long an instance waits for the other instances' part of a view, before it answers without them. */
export const VIEW_TIMEOUT_MS = 1000
/** How long a request waits for a count that is running, before it answers with the one before. */
export const COUNT_WAIT_MS = 150
/** A count is used for this long, and for longer if counting takes long: then it takes 1/20 of the time. */
export const COUNT_FRESH_MS = 1000
export const COUNT_SPACING = 20
/** How many kinds an overview shows. */
export const MAX_OVERVIEW_KINDS = 1000
/** A timer that has been due for this long counts as overdue: until then it may be done and not yet settled. */
export const OVERDUE_MS = 5000

// ---- series of rates and lateness

/** The resolutions that an instance keeps: short steps for an hour, long ones for a day. */
export const seriesSteps = Object.freeze({
  '1h': Object.freeze({ stepMs: 10_000, steps: 360 }),
  '1d': Object.freeze({ stepMs: 60_000, steps: 1440 }),
})
/** How many kinds and namespaces have series of their own, each about 180 KB. */
export const MAX_SERIES = 100
/** A series that had nothing for this long gives its place to another. */
export const SERIES_IDLE_MS = 3_600_000

// ---- dead letters

/** How many dead letters of a namespace are grouped. */
export const MAX_SURVEYED_DEAD = 200_000
/** How many are read at a time. */
export const DEAD_SURVEY_ROWS = 200
export const DEAD_SURVEY_BUDGET_MS = 10
/** How long a page of a search among dead letters may take. */
export const DEAD_PAGE_MS = 100
/** Of how many namespaces the groups are kept. */
export const MAX_DEAD_SURVEYS = 50
export const MAX_DEAD_GROUPS = 200
/** Longer reasons are cut before they are compared. */
export const MAX_GROUP_REASON = 200

// ---- jobs

/** How many jobs run on an instance at once, and how many it remembers. */
export const MAX_RUNNING_JOBS = 4
export const MAX_KEPT_JOBS = 100
/** How many timers or dead letters a job changes at a time. */
export const JOB_BATCH_ROWS = 500
/** Pauses of single timers are several calls each. */
export const JOB_BATCH_PAUSES = 20
/** How often a job with a rate does its next part. */
export const JOB_PART_MS = 100
