import { StateError } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { OnEvent } from '../event.js'
import type { EngineSettings } from '../settings.js'
import { Waits } from '../waits.js'
import type { LeasedAttempt } from './leased-attempt.js'
import type { LeasedAttempts } from './leased-attempts.js'

const MOST_AT_ONCE = 1000

/**
 * Prolongs the leases of rows whose handlers take their time: every quarter of a lease, those that are a quarter
 * old. One that the store no longer knows is lost: what comes of its attempt will not be followed.
 */
export class LeaseKeeper {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #attempts: LeasedAttempts
  readonly #onEvent: OnEvent
  readonly #waits: Waits
  #isOver = false

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    attempts: LeasedAttempts
    onEvent: OnEvent
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#attempts = parts.attempts
    this.#onEvent = parts.onEvent
    this.#waits = new Waits(parts.clock)
  }

  async run(): Promise<void> {
    const { leaseMs, retryMs } = this.#settings
    let isWell = true
    while (!this.#isOver) {
      await this.#waits.wait(isWell ? leaseMs / 4 : retryMs)
      if (!this.#isOver) isWell = await this.#prolong()
    }
  }

  end(): void {
    this.#isOver = true
    this.#waits.end()
  }

  /** Answers whether the store took it. */
  async #prolong(): Promise<boolean> {
    const { leaseMs } = this.#settings
    const sentAt = { monotonic: this.#clock.monotonic(), wall: this.#clock.now() }
    // One that is being settled would keep the others waiting for its row.
    const old = [...this.#attempts.held].filter(
      (attempt) => !attempt.isSettling && !attempt.isHeldFor(leaseMs / 4, sentAt),
    )
    for (let from = 0; from < old.length; from += MOST_AT_ONCE) {
      const some = old.slice(from, from + MOST_AT_ONCE)
      try {
        const answers = await this.#store.extend(
          some.map(({ receipt }) => receipt),
          leaseMs,
        )
        for (const [index, attempt] of some.entries()) {
          if (answers[index] === true) attempt.leasedAt = sentAt
          else this.#lose(attempt)
        }
      } catch (error) {
        // The store was stopped under us: nothing more can be said to it.
        if (error instanceof StateError) this.#isOver = true
        const trouble = error instanceof Error ? error : new Error(String(error))
        this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'extend', error: trouble })
        return false
      }
    }
    return true
  }

  #lose(attempt: LeasedAttempt): void {
    // One that ended meanwhile learns by its settlement what became of it.
    if (attempt.outcome !== undefined || attempt.isSettling) return
    attempt.isSuperseded = true
    this.#attempts.forget(attempt)
  }
}
