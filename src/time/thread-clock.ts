/**
 * Monotonic time that all threads of a process agree on: microseconds since an origin that they share. The
 * `performance.now()` of a thread counts from the start of that thread, so it is adjusted once, when the clock is made.
 * Proven by test/time/thread-clock.test.ts.
 */
export class ThreadClock {
  readonly #offsetMs: number

  /** `origin` is the origin of another thread's clock. Without it, time begins now. */
  constructor(origin: bigint = threadOrigin()) {
    this.#offsetMs = Number(process.hrtime.bigint() - origin) / 1e6 - performance.now()
  }

  micros(): number {
    return (performance.now() + this.#offsetMs) * 1000
  }
}

/** The present instant, as an origin for the clocks of several threads. */
export function threadOrigin(): bigint {
  return process.hrtime.bigint()
}
