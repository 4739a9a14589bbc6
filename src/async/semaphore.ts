import type { Clock, Wake } from '../time/index.js'

/** How long a call waits at most, by a clock. */
interface Patience {
  readonly clock: Clock
  readonly ms: number
}

/**
 * Runs at most `limit` calls at once. The others wait, in order of arrival. A call that has waited for `patience.ms`
 * runs regardless of the limit, so that hung calls cannot block the rest. Proven by test/async/semaphore.test.ts.
 */
export class Semaphore {
  readonly #waiting = new Set<() => void>()
  readonly #patience: Patience | undefined
  #limit: number
  #underWay = 0

  constructor(limit: number, patience?: Patience) {
    this.#limit = limit
    this.#patience = patience
  }

  /** Changes the limit. Calls under way beyond the new limit go on. */
  setLimit(limit: number): void {
    this.#limit = limit
    this.#admitWaiting()
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    // A new call does not overtake those that wait.
    if (this.#underWay < this.#limit && this.#waiting.size === 0) this.#underWay++
    else await this.#wait()
    try {
      return await call()
    } finally {
      this.#underWay--
      this.#admitWaiting()
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      let wake: Wake | undefined
      const admit = (): void => {
        this.#waiting.delete(admit)
        wake?.cancel()
        this.#underWay++
        resolve()
      }
      this.#waiting.add(admit)
      wake = this.#patience?.clock.wakeAfter(this.#patience.ms, admit)
    })
  }

  #admitWaiting(): void {
    for (const admit of this.#waiting) {
      if (this.#underWay >= this.#limit) return
      admit()
    }
  }
}
