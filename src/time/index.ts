/** Time: clocks that read and wake, and durations. Nothing else in Carillon asks the machine what time it is. */
export type { Clock, Wake, WakeOptions } from './clock.js'
export { type Duration, formatDuration, MAX_DURATION_MS, parseDuration } from './duration.js'
export { type Machine, SystemClock, systemClock } from './system-clock.js'
export { VirtualClock } from './virtual-clock.js'
