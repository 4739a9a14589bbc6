/** What the command line uses without options. */

export const DEFAULT_HOST = '127.0.0.1'
export const DEFAULT_PORT = 7750
export const DEFAULT_URL = `http://${DEFAULT_HOST}:${DEFAULT_PORT}`
export const DEFAULT_STORE = 'file:./carillon-data'
export const CONFIGURATION_FILE = 'carillon.json'
/** How many items `list` and `dead` print. */
export const DEFAULT_LIMIT = 100
/** How often `backup` and `compact` ask for their progress. */
export const JOB_POLL_MS = 250
/** How many lines `import` sends in one batch. */
export const IMPORT_ROWS = 1000
/** After how many timers `import` and `export` report their progress. */
export const PROGRESS_EVERY = 10_000
/** Log lines are dropped while more bytes than this wait for their reader. */
export const MAX_LOG_BUFFER_BYTES = 1_048_576
