import { within } from '../../async/index.js'
import type { Clock } from '../../time/index.js'
import { COUNT_FRESH_MS, COUNT_SPACING, COUNT_WAIT_MS } from '../defaults.js'

/** A count, and when it began. Undefined results mean that the first count still runs. */
export interface Counted<Result> {
  readonly state: 'none' | 'running' | 'done'
  readonly result: Result | undefined
  readonly countedAt: number | undefined
}

/**
 * A count that may take long, because it reads the whole store. It runs only when somebody asks, and takes at most 1/20
 * of the time. A caller gets the last result, and waits a moment for a new one if that is old. Many callers share one
 * count. Proven by test/server/views/background-count.test.ts.
 */
export class BackgroundCount<Result> {
  readonly #clock: Clock
  readonly #count: () => Promise<Result>
  #last: { readonly result: Result; readonly countedAt: number; readonly startedAt: number } | undefined
  #freshMs = 0
  #running: Promise<void> | undefined
  #error: unknown

  constructor(clock: Clock, count: () => Promise<Result>) {
    this.#clock = clock
    this.#count = count
  }

  /** The newest result. Rejects if the count has failed and there is no earlier one. */
  async newest(): Promise<Counted<Result>> {
    const isFresh = this.#last !== undefined && this.#clock.monotonic() - this.#last.startedAt < this.#freshMs
    if (!isFresh) {
      this.#running ??= this.#run().finally(() => (this.#running = undefined))
      await within(this.#clock, COUNT_WAIT_MS, this.#running)
    }
    if (this.#last === undefined && this.#running === undefined && this.#error !== undefined)
      throw this.#error
    const state = this.#running !== undefined ? 'running' : this.#last === undefined ? 'none' : 'done'
    return { state, result: this.#last?.result, countedAt: this.#last?.countedAt }
  }

  async #run(): Promise<void> {
    const startedAt = this.#clock.monotonic()
    const countedAt = this.#clock.now()
    try {
      const result = await this.#count()
      const tookMs = this.#clock.monotonic() - startedAt
      this.#freshMs = Math.max(COUNT_FRESH_MS, COUNT_SPACING * tookMs)
      this.#last = { result, countedAt, startedAt }
      this.#error = undefined
    } catch (error) {
      this.#error = error
    }
  }
}
