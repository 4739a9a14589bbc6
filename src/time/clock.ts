/**
 * A clock reads the time and wakes its callers; it is the only source of time in Carillon, so whoever holds
 * the clock holds the time. A wake never comes early by the clock that gives it, never more than once, never
 * inside the call that asked for it, and not after its `cancel`.
 */
export interface Clock {
  /** Wall time in whole epoch milliseconds. May jump either way when the machine's clock is set. */
  now(): number

  /** Milliseconds since some fixed moment, possibly fractional. Never goes back, knows no jumps. */
  monotonic(): number

  /** Calls `wake` once wall time has reached `dueAt`, however the wall clock is set in the meantime. */
  wakeAt(dueAt: number, wake: () => void, options?: WakeOptions): Wake

  /** Calls `wake` once `delayMs` have passed by the monotonic clock; jumps of the wall clock do not matter. */
  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake

  /** Resolves when what has come in this turn of the event loop was heard: those who meet in it can share a cost. */
  turnEnd(): Promise<void>
}

export interface WakeOptions {
  /** Whether this wake keeps the process alive. Default true. */
  readonly keepAlive?: boolean
}

/** A wake that was asked for. */
export interface Wake {
  /** Calls it off; harmless when it has already come. */
  cancel(): void
}
