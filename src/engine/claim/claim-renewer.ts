import { StateError } from '../../error/index.js'
import type { Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { OnEvent } from '../event.js'
import type { EngineSettings } from '../settings.js'
import { Sleeper } from '../../async/index.js'
import type { CancelledRows } from './cancelled-rows.js'
import type { ClaimedAttempt } from './claimed-attempt.js'
import type { ClaimedRows } from './claimed-rows.js'

const MAX_BATCH = 1000

/**
 * Renews the claims of rows whose handlers take long: every quarter of `leaseMs`, those that are a quarter old. A claim
 * that the store no longer knows is lost: nothing follows from its attempt.
 */
export class ClaimRenewer {
  readonly #store: Store
  readonly #clock: Clock
  readonly #machineClock: Clock
  readonly #settings: EngineSettings
  readonly #rows: ClaimedRows
  readonly #onEvent: OnEvent
  readonly #sleeper: Sleeper
  readonly #cancelledRows: CancelledRows
  #isOver = false

  constructor(parts: {
    store: Store
    clock: Clock
    machineClock: Clock
    settings: EngineSettings
    rows: ClaimedRows
    onEvent: OnEvent
    cancelledRows: CancelledRows
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#machineClock = parts.machineClock
    this.#settings = parts.settings
    this.#rows = parts.rows
    this.#onEvent = parts.onEvent
    this.#sleeper = new Sleeper(parts.clock)
    this.#cancelledRows = parts.cancelledRows
  }

  async run(): Promise<void> {
    const { leaseMs, retryMs } = this.#settings
    let isWell = true
    while (!this.#isOver) {
      await this.#sleeper.sleep(isWell ? leaseMs / 4 : retryMs)
      if (!this.#isOver) isWell = await this.#renew()
    }
  }

  stop(): void {
    this.#isOver = true
    this.#sleeper.cancelAll()
  }

  /** Answers whether the store has answered, and nothing is left to renew. */
  async #renew(): Promise<boolean> {
    const { leaseMs } = this.#settings
    let isAnyLeft = false
    const sentAt = { monotonic: this.#clock.monotonic(), wall: this.#machineClock.now() }
    // A row that is being settled is locked: renewing it would delay the others.
    const old = [...this.#rows].filter(
      (attempt) => !attempt.isSettling && !attempt.isHeldFor(leaseMs / 4, sentAt),
    )
    for (let from = 0; from < old.length; from += MAX_BATCH) {
      const some = old.slice(from, from + MAX_BATCH)
      try {
        const answers = await this.#store.extend(
          some.map(({ claimToken }) => claimToken),
          leaseMs,
        )
        const refused = some.filter((_, index) => answers[index] !== true)
        const cancelled = await this.#cancelledRows.renewTokens(refused)
        for (const [index, attempt] of some.entries()) {
          if (answers[index] === true) attempt.leasedAt = sentAt
          // Its claim was not renewed yet: the next round does it, with the new token.
          else if (!cancelled.has(attempt)) this.#lose(attempt)
          else isAnyLeft = true
        }
      } catch (error) {
        // The store was stopped: it takes no more calls.
        if (error instanceof StateError) this.#isOver = true
        const trouble = error instanceof Error ? error : new Error(String(error))
        this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'extend', error: trouble })
        return false
      }
    }
    return !isAnyLeft
  }

  #lose(attempt: ClaimedAttempt): void {
    // If it has ended meanwhile, its settlement finds out what happened to the claim.
    if (attempt.outcome !== undefined || attempt.isSettling) return
    attempt.isSuperseded = true
    this.#rows.forget(attempt)
    attempt.abandon()
  }
}
