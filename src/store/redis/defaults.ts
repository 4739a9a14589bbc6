/*
 * The sizes and times that the Redis store uses. `RedisTuning` may be set by options, for tests. The rest is fixed.
 */

// ---- tuning

export interface RedisTuning {
  /** The time span of one bucket in a new store. An existing store keeps its own. */
  readonly bucketMs: number
  /** A part whose hash has more rows than this is split. */
  readonly partRows: number
  /** At least this many rows of one call are stored together, as a chunk. */
  readonly chunkRows: number
}

export const tuningDefaults: RedisTuning = Object.freeze({
  bucketMs: 86_400_000,
  partRows: 2000,
  chunkRows: 128,
})

// A part that is split by time becomes this many: they can then grow for long before they are split again.
export const SPLIT_PARTS = 32

// ---- limits of a write

// A Redis value may have 512 MB, but a script holds a payload in memory more than once.
export const MAX_PAYLOAD_BYTES = 16 << 20
// The server accepts 512 MB in one argument, and a script holds the payloads in memory more than once.
export const MAX_WRITE_BYTES = 64 << 20

// ---- writes that share a script

// The server runs one script while the next is on its way.
export const MAX_WRITES_IN_FLIGHT = 2
export const MAX_JOINED_OPERATIONS = 1000
export const MAX_JOINED_BYTES = 4 << 20

// ---- batches of the inbox

export const MAX_BATCH_REQUESTS = 250
export const MAX_BATCH_BYTES = 1 << 20

// ---- reading and sweeping

/** About how many rows one sweep removes. */
export const SWEEP_ROWS = 1000
// How many rows or records a list reads in one call.
export const MIN_LIST_READ = 50
export const MAX_LIST_READ = 2000
/** A page of `list` looks at so many rows before its time budget counts. So a small store has no short pages. */
export const MIN_BUDGETED_ROWS = 2000

// ---- connections

export const CONNECT_TIMEOUT_MS = 5000
// A hung server, or one behind a broken network, never answers. So the connection sends a ping every two seconds and
// gives up after eight seconds of silence.
export const PING_MS = 2000
export const SILENCE_TIMEOUT_MS = 8000
// Below the silence timeout: otherwise a `WAIT` for replicas could end the connection.
export const MAX_WAIT_MS = 5000
export const MAX_RECONNECT_DELAY_MS = 1000
export const MAX_REDIRECTIONS = 8

// ---- large replies, such as pages

// About what a process reads while the server produces the same amount.
export const LARGE_REPLY_BYTES_IN_FLIGHT = 3_000_000
export const MIN_LARGE_REPLIES = 2
export const MAX_LARGE_REPLIES = 8

// ---- wake-ups

export const WAKE_CHECK_MS = 500
// A cluster node that fails this often in a row may never come back, so the channel listens to another one.
export const MAX_WAKE_FAILURES = 3
