/** The limits of handlers on threads. */

export const MAX_THREADS = 1024

/** How long the event loop of a thread may take to answer after the time of a handler was over. */
export const PING_MS = 250

/** A thread that ends so soon after its start is replaced more slowly each time. */
export const QUICK_DEATH_MS = 1000
export const LONGEST_RESTART_PAUSE_MS = 10_000
