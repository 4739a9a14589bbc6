/** Clocks, which read the time and wake their callers, and durations. No other folder asks the machine for the time. */
export type { Clock, Wake, WakeOptions } from './clock.js'
export { type Duration, formatDuration, MAX_DURATION_MS, parseDuration } from './duration.js'
export { type Machine, SystemClock, systemClock } from './system-clock.js'
export { ThreadClock, threadOrigin } from './thread-clock.js'
export { VirtualClock } from './virtual-clock.js'
