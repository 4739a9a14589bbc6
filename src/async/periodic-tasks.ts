import type { Clock, Wake } from '../time/index.js'

/**
 * Runs tasks periodically until `stop`. A task that fails is reported and runs again after its period.
 * Proven by test/async/periodic-tasks.test.ts.
 */
export class PeriodicTasks {
  readonly #clock: Clock
  readonly #onError: (name: string, error: unknown) => void
  readonly #wakes = new Set<Wake>()
  #isStopped = false

  constructor(clock: Clock, onError: (name: string, error: unknown) => void) {
    this.#clock = clock
    this.#onError = onError
  }

  /** Runs a task now, once. Never rejects. */
  async once(name: string, task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      if (!this.#isStopped) this.#onError(name, error)
    }
  }

  /** Runs a task again and again, `ms` after the end of its last run. `name` names it in error reports. */
  every(ms: number, name: string, task: () => Promise<void>): void {
    const run = async (): Promise<void> => {
      this.#wakes.delete(wake)
      await this.once(name, task)
      if (!this.#isStopped) this.every(ms, name, task)
    }
    const wake = this.#clock.wakeAfter(ms, () => void run(), { keepAlive: false })
    this.#wakes.add(wake)
  }

  stop(): void {
    this.#isStopped = true
    for (const wake of this.#wakes) wake.cancel()
  }
}
