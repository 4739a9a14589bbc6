/** The defaults and limits of the client. Options override the first group. */

export const TIMEOUT = '30s'
export const RETRIES = 5
export const CONCURRENCY = 64

// ---- retries

export const MIN_PAUSE_MS = 100
export const MAX_PAUSE_MS = 5000
/** If a server asks for a longer pause, the client retries after this one. */
export const MAX_RETRY_AFTER_MS = 60_000

// ---- sizes of requests

export const MAX_BATCH_ROWS = 5000
export const MAX_LEASE_BATCH_ROWS = 1000
/** The server accepts 8 MiB. A character takes up to three bytes. */
export const MAX_BATCH_CHARACTERS = 2_500_000
/** How many ids one request may have. */
export const MAX_IDS = 1000
/** The longest page that a server returns. */
export const PAGE_ITEMS = 1000
