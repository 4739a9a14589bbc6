import { StoreError } from '../../error/index.js'
import type { ClaimSettlement, SettlingTransaction } from '../../store/index.js'
import type { FiringTransaction, Outcome } from '../../timer/index.js'
import type { LeasedAttempt } from './leased-attempt.js'

/**
 * A transaction that ends the lease of an attempt together with whatever its handler wrote. A lease that was lost
 * undoes it all. When nobody knows whether it was committed, the row itself does: it is gone, or its lease runs out
 * and it is claimed again.
 */
export class LeaseTransaction implements FiringTransaction {
  readonly #transaction: SettlingTransaction
  readonly #attempt: LeasedAttempt
  readonly #settlementOf: (outcome: Outcome) => ClaimSettlement

  constructor(
    transaction: SettlingTransaction,
    attempt: LeasedAttempt,
    settlementOf: (outcome: Outcome) => ClaimSettlement,
  ) {
    this.#transaction = transaction
    this.#attempt = attempt
    this.#settlementOf = settlementOf
  }

  get connection(): unknown {
    return this.#transaction.connection
  }

  async commit(outcome: Outcome): Promise<void> {
    const attempt = this.#attempt
    attempt.isSettling = true
    try {
      const isHeld =
        !attempt.isSuperseded && (await this.#transaction.settleClaimed(this.#settlementOf(outcome)))
      if (isHeld) {
        await this.#transaction.commit()
        attempt.isSettled = true
      } else {
        await this.#transaction.rollback()
        attempt.isSuperseded = true
      }
    } catch (error) {
      attempt.isSettling = false
      if (!(error instanceof StoreError && error.code === 'unknown-outcome')) throw error
      attempt.isUnsure = true
    }
    attempt.report(outcome)
  }

  rollback(): Promise<void> {
    return this.#transaction.rollback()
  }

  abandon(): void {
    this.#transaction.abandon()
  }
}
