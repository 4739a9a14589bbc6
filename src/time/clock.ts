/**
 * A clock reads the time and wakes its callers. It is the only source of time in Carillon, so a test that controls
 * the clock controls the time. A wake never comes early by its own clock, never twice, never inside the call that
 * asked for it, and never after its `cancel`.
 */
export interface Clock {
  /** Wall time in epoch milliseconds, an integer. It jumps when somebody sets the machine's clock. */
  now(): number

  /** Milliseconds since some fixed moment, possibly fractional. It never goes back and never jumps. */
  monotonic(): number

  /** Calls `wake` once wall time has reached `dueAt`, even if the wall clock is set in the meantime. */
  wakeAt(dueAt: number, wake: () => void, options?: WakeOptions): Wake

  /** Calls `wake` once `delayMs` have passed by the monotonic clock. Jumps of the wall clock do not matter. */
  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake

  /** Resolves at the end of this turn of the event loop. Calls that arrive in the same turn can share a batch. */
  turnEnd(): Promise<void>
}

/** The options of a wake. */
export interface WakeOptions {
  /** Whether this wake keeps the process alive. Default true. */
  readonly keepAlive?: boolean
}

/** A pending wake. */
export interface Wake {
  /** Cancels the wake. Harmless if it has come already. */
  cancel(): void
}
