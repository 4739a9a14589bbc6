import { nameKey, type TimerName } from '../../timer/index.js'

/**
 * Keeps the order of calls on one name, where a call reads the store before it submits its operation. Later calls on
 * that name wait until it has submitted. Other calls are not delayed. Proven by test/front/unchanged-schedule.test.ts.
 */
export class NameTurns {
  // The last call on each name that has not submitted yet.
  readonly #last = new Map<string, Promise<unknown>>()

  get isIdle(): boolean {
    return this.#last.size === 0
  }

  /** Resolves once all earlier calls on these names have submitted; undefined if none is left. */
  earlier(names: Iterable<TimerName>): Promise<unknown> | undefined {
    if (this.isIdle) return undefined
    const earlier = new Set<Promise<unknown>>()
    for (const name of names) {
      const last = this.#last.get(nameKey(name))
      if (last !== undefined) earlier.add(last)
    }
    return earlier.size === 0 ? undefined : Promise.allSettled(earlier)
  }

  /** Runs `work` after all earlier calls on these names. `work` resolves as soon as it has submitted. */
  async run<Result>(names: readonly TimerName[], work: () => Promise<Result>): Promise<Result> {
    const earlier = this.earlier(names)
    const working = earlier === undefined ? work() : earlier.then(work)
    const keys = new Set(names.map(nameKey))
    for (const key of keys) this.#last.set(key, working)
    try {
      return await working
    } finally {
      for (const key of keys) if (this.#last.get(key) === working) this.#last.delete(key)
    }
  }
}
