/** The defaults and limits of pools. */
export const poolDefaults = Object.freeze({
  maxTimers: 1_048_576,
  payloadBytes: 0,
  /** How long a worker that is told to stop may finish tasks that have started. */
  stopGraceMs: 5000,
} as const)

/** The length of a tick: the finest that a thread can be woken for sensibly. */
export const TICK_MICROS = 100

export const MAX_PAYLOAD_BYTES = 1024

/** A wake-up of the metronome that is later than this is counted: the machine is too busy for it. */
export const LATE_MICROS = 10_000

/** Tasks that run in one turn of a worker, before its event loop gets a turn. */
export const TURN_TASKS = 1000

/** Records that a worker checks for cancelled timers after each turn, and if there are many of them. */
export const SCRUB_RECORDS = 64
export const SCRUB_MANY_RECORDS = 8192

/** Stale entries that are few, in addition to half the number of timers. */
export const GARBAGE_ALLOWED = 1024

/** A worker that dies so soon after its start is replaced more slowly each time. */
export const QUICK_DEATH_MS = 1000
export const LONGEST_RESTART_PAUSE_MS = 10_000
