import type { Clock, Wake } from '../time/index.js'

/** Waits on a clock that can be ended early, all at once and for good. */
export class Waits {
  readonly #clock: Clock
  readonly #waits = new Set<() => void>()
  #isOver = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves after `ms` by the monotonic clock, or at once when `end` is called. */
  wait(ms: number): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    return new Promise((resolve) => {
      let wake: Wake | undefined = undefined
      const finish = (): void => {
        this.#waits.delete(finish)
        wake?.cancel()
        resolve()
      }
      wake = this.#clock.wakeAfter(ms, finish, { keepAlive: false })
      this.#waits.add(finish)
    })
  }

  /** Ends every wait under way, and every later one before it begins. */
  end(): void {
    this.#isOver = true
    this.interrupt()
  }

  /** Ends the waits under way only. */
  interrupt(): void {
    for (const finish of this.#waits) finish()
  }
}
