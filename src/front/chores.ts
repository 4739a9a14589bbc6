import type { Clock, Wake } from '../time/index.js'

/** Work that is done now and then until the end. What fails is told, and tried again the next time. */
export class Chores {
  readonly #clock: Clock
  readonly #onTrouble: (call: string, error: unknown) => void
  readonly #wakes = new Set<Wake>()
  #isOver = false

  constructor(clock: Clock, onTrouble: (call: string, error: unknown) => void) {
    this.#clock = clock
    this.#onTrouble = onTrouble
  }

  /** Does it now. */
  async once(call: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#isOver) this.#onTrouble(call, error)
    }
  }

  /** Does it every so many milliseconds; `call` names it where it fails. */
  every(ms: number, call: string, work: () => Promise<void>): void {
    const go = async (): Promise<void> => {
      this.#wakes.delete(wake)
      await this.once(call, work)
      if (!this.#isOver) this.every(ms, call, work)
    }
    const wake = this.#clock.wakeAfter(ms, () => void go(), { keepAlive: false })
    this.#wakes.add(wake)
  }

  end(): void {
    this.#isOver = true
    for (const wake of this.#wakes) wake.cancel()
  }
}
