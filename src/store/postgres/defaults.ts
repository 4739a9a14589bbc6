/** The tunables of the PostgreSQL store, in one place. Users can set the first group only. */

/** The defaults of `PostgresStoreOptions` that belong to this store alone. */
export const optionDefaults = Object.freeze({
  schema: 'carillon',
  maxConnections: 10,
  statementTimeoutMs: 30_000,
  connectTimeoutMs: 10_000,
})

// ---- connections

/** Connections for leases and heartbeats only. If these waited behind timers, a busy owner would lose its shards. */
export const LEASE_CONNECTIONS = 2

/** The pool closes a connection that was idle for this long. */
export const IDLE_CONNECTION_MS = 30_000

/** The server cancels a slow statement. The client gives up the connection this much later if it got no answer. */
export const CLIENT_TIMEOUT_EXTRA_MS = 5000

/** The server drops a connection whose process has not read an answer for this long. See `SessionSettings`. */
export const MAX_TCP_USER_TIMEOUT_MS = 5000

/** How often a statement is sent again after a deadlock or a serialization failure. */
export const MAX_COLLISIONS = 20

// ---- statements that calls share

/** How many statements of one sort run at once. Several connections can then share a large batch. */
export const MAX_STATEMENTS = 4

/** How many bytes one write statement carries. This is large enough for the server to work in bulk. */
export const MAX_WRITE_BYTES = 4 << 20

/** What a plain set counts for besides its payload. So 2,500 rows with tiny payloads share a statement. */
export const PLAIN_SET_BYTES = MAX_WRITE_BYTES / 2500

/** What any other operation counts for besides its payload. */
export const OPERATION_BYTES = 2048

/** How many shards one statement covers: enough for all shards of an instance. */
export const MAX_SHARDS_TOGETHER = 256

/** How many requests of each inbox are read by one statement for many shards. A longer inbox is read by itself. */
export const REQUESTS_TOGETHER = 64

/**
 * An inbox whose oldest requests have more bytes is read by itself, too. PostgreSQL answers with at most a gigabyte, and
 * the requests of all shards must fit.
 */
export const REQUEST_BYTES_TOGETHER = 128 << 10

/** How many statements of one sort of those who do not own a shard run at once. The next calls gather meanwhile. */
export const MAX_INBOX_STATEMENTS = 2

/** How many shard rows are read, and written, by statements that run at once. */
export const MAX_SHARD_STATEMENTS = 2

/** How many names one statement looks up. A call with more names goes alone. */
export const MAX_NAMES = 2500

// ---- single calls

/**
 * How many row pages are read at once. An instance takes rows in more slowly than the server reads them. More reads
 * at once would share the server's cores, and the first page would come hardly before the last.
 */
export const MAX_LOADS = 3

/** A page that has waited this long is read regardless of `MAX_LOADS`: the other reads may hang. */
export const LOAD_PATIENCE_MS = 500

/** How many rows one `sweep` removes. */
export const SWEEP_ROWS = 2000

/** How many rows a statement of `list` looks at: at first at least, and at most. It takes a few milliseconds. */
export const MIN_LIST_ROWS = 100
export const LIST_ROWS = 4000

/** A page of `list` looks at so many rows before its time budget counts. So a small store has no short pages. */
export const MIN_BUDGETED_ROWS = 2000

/** A key prefix that more timers have is not looked up by name. Its timers are found sooner by place. */
export const MAX_NAMED_ROWS = 5000

/** How many entries one statement of `pruneHistory` removes. */
export const PRUNE_ROWS = 10_000

/** How often a change of a shard row is computed again because the row changed meanwhile. */
export const MAX_SHARD_CHANGE_TRIES = 100

/** After a write met a name that was taken, this many writes look names up first. */
export const CAUTIOUS_WRITES = 16

// ---- wake-ups

/** The shortest time between two wake-ups of one shard by one process. */
export const WAKE_INTERVAL_MS = 5

/** How often the listening connection is checked. */
export const PING_MS = 15_000

/** The first wait before the listening connection is opened again. It doubles up to the longest one. */
export const RECONNECT_MS = 250
export const MAX_RECONNECT_MS = 5000
