/** Upper bounds of the classes of durations, in seconds. The last class has none. */
export const ATTEMPT_SECONDS: readonly number[] = Object.freeze([0.005, 0.025, 0.1, 0.5, 2.5, 10, 60])

/** How long the attempts of a kind took. */
export interface KindTimes {
  /** How many took no longer than each of `ATTEMPT_SECONDS`. */
  readonly upTo: readonly number[]
  readonly count: number
  readonly sumMs: number
}

/**
 * How long attempts took, by kind. Only those that waited for something count: a handler that returns at once is too
 * quick to be worth a look at the clock.
 *
 * Proven by test/server/outages/metrics.test.ts.
 */
export class AttemptTimes {
  readonly #byKind = new Map<string, { upTo: number[]; count: number; sumMs: number }>()

  add(kind: string, ms: number, attempts: number): void {
    let times = this.#byKind.get(kind)
    if (times === undefined) {
      times = { upTo: ATTEMPT_SECONDS.map(() => 0), count: 0, sumMs: 0 }
      this.#byKind.set(kind, times)
    }
    times.count += attempts
    times.sumMs += ms * attempts
    for (let at = ATTEMPT_SECONDS.length - 1; at >= 0 && ms <= ATTEMPT_SECONDS[at]! * 1000; at--)
      times.upTo[at]! += attempts
  }

  of(kind: string): KindTimes | undefined {
    return this.#byKind.get(kind)
  }
}
