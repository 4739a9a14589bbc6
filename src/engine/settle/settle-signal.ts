import { Sleeper } from '../../async/index.js'
import type { Clock } from '../../time/index.js'

/**
 * Asks the settler of a shard to settle before its time. Any part of the shard may raise it; only the settler waits
 * for it. It knows nobody, so the parts that raise it need not know the settler.
 */
export class SettleSignal {
  readonly #sleeper: Sleeper
  // Sleeps of the settler between two settlements.
  readonly #rest: Sleeper
  #isRaised = false

  constructor(clock: Clock) {
    this.#sleeper = new Sleeper(clock)
    this.#rest = new Sleeper(clock)
  }

  get isRaised(): boolean {
    return this.#isRaised
  }

  /** Ends every `sleep` under way. It stays raised until it is cleared. */
  raise(): void {
    if (this.#isRaised) return
    this.#isRaised = true
    this.#sleeper.wakeAll()
    this.#rest.wakeAll()
  }

  /** The next settlement may have to be earlier than planned: ends a `rest` under way. */
  replan(): void {
    this.#rest.wakeAll()
  }

  clear(): void {
    this.#isRaised = false
  }

  /** Resolves after `ms`, or as soon as the signal is raised or stopped. */
  sleep(ms: number): Promise<void> {
    return this.#sleeper.sleep(ms)
  }

  /** As `sleep`, and also ends when the next settlement is replanned. */
  rest(ms: number): Promise<void> {
    return this.#rest.sleep(ms)
  }

  /** From now on `sleep` and `rest` resolve at once. */
  stop(): void {
    this.#sleeper.cancelAll()
    this.#rest.cancelAll()
  }
}
