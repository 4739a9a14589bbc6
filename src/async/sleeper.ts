import type { Clock, Wake } from '../time/index.js'

/**
 * Sleeps that can be ended early, all at once, or cancelled for good: a component that stops waits for none of them.
 * They do not keep the process alive. Proven by test/async/sleeper.test.ts.
 */
export class Sleeper {
  readonly #clock: Clock
  readonly #sleeps = new Set<() => void>()
  #isCancelled = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves after `ms` by the monotonic clock, or as soon as `wakeAll` or `cancelAll` is called. */
  sleep(ms: number): Promise<void> {
    if (this.#isCancelled) return Promise.resolve()
    return new Promise((resolve) => {
      let wake: Wake | undefined = undefined
      const finish = (): void => {
        this.#sleeps.delete(finish)
        wake?.cancel()
        resolve()
      }
      wake = this.#clock.wakeAfter(ms, finish, { keepAlive: false })
      this.#sleeps.add(finish)
    })
  }

  /** Ends every sleep under way. Later ones end at once. */
  cancelAll(): void {
    this.#isCancelled = true
    this.wakeAll()
  }

  /** Ends the sleeps under way. Later ones sleep as usual. */
  wakeAll(): void {
    for (const finish of this.#sleeps) finish()
  }
}
