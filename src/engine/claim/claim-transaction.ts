import { StoreError } from '../../error/index.js'
import type { ClaimSettlement, SettlingTransaction } from '../../store/index.js'
import type { FiringTransaction, Outcome } from '../../timer/index.js'
import type { ClaimedAttempt } from './claimed-attempt.js'

interface ClaimTransactionParts {
  readonly settlementOf: (outcome: Outcome) => ClaimSettlement
  /** Whether the timer was cancelled while it fired. Then its claim token was renewed. */
  readonly isCancelled: () => Promise<boolean>
}

/**
 * A transaction that settles a claimed attempt together with what its handler has written. If the claim was lost, all of
 * it is rolled back. If the outcome of the commit is unknown, the row shows it: it is gone, or its claim runs out and it
 * is claimed again.
 */
export class ClaimTransaction implements FiringTransaction {
  readonly #transaction: SettlingTransaction
  readonly #attempt: ClaimedAttempt
  readonly #parts: ClaimTransactionParts

  constructor(transaction: SettlingTransaction, attempt: ClaimedAttempt, parts: ClaimTransactionParts) {
    this.#transaction = transaction
    this.#attempt = attempt
    this.#parts = parts
  }

  get connection(): unknown {
    return this.#transaction.connection
  }

  async commit(outcome: Outcome): Promise<void> {
    const attempt = this.#attempt
    attempt.isSettling = true
    try {
      if (await this.#settle(outcome)) {
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

  /** Answers false if the claim was lost. */
  async #settle(outcome: Outcome): Promise<boolean> {
    const { settlementOf, isCancelled } = this.#parts
    if (this.#attempt.isSuperseded) return false
    if (await this.#transaction.settleClaimed(settlementOf(outcome))) return true
    return (await isCancelled()) && (await this.#transaction.settleClaimed(settlementOf(outcome)))
  }

  rollback(): Promise<void> {
    return this.#transaction.rollback()
  }

  abandon(): void {
    this.#transaction.abandon()
  }
}
