import type { Clock, Wake } from '../time/index.js'

/** How long anybody waits for those before, by a clock. */
interface Patience {
  readonly clock: Clock
  readonly ms: number
}

/**
 * Lets so many calls through at once, and the others after them, in the order they came. With patience, one that has
 * waited so long goes whatever the others do: calls that hang must not keep everybody.
 */
export class FewAtOnce {
  readonly #waiting = new Set<() => void>()
  readonly #patience: Patience | undefined
  #most: number
  #underWay = 0

  constructor(most: number, patience?: Patience) {
    this.#most = most
    this.#patience = patience
  }

  /** From now on so many; those that are more already stay. */
  allow(most: number): void {
    this.#most = most
    this.#admit()
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    // Nobody who comes now is before those who wait.
    if (this.#underWay < this.#most && this.#waiting.size === 0) this.#underWay++
    else await this.#turn()
    try {
      return await call()
    } finally {
      this.#underWay--
      this.#admit()
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      let wake: Wake | undefined
      const go = (): void => {
        this.#waiting.delete(go)
        wake?.cancel()
        this.#underWay++
        resolve()
      }
      this.#waiting.add(go)
      wake = this.#patience?.clock.wakeAfter(this.#patience.ms, go)
    })
  }

  #admit(): void {
    for (const go of this.#waiting) {
      if (this.#underWay >= this.#most) return
      go()
    }
  }
}
