import type { SettlingTransaction } from '../../store/index.js'
import type { FiringTransaction, Outcome } from '../../timer/index.js'
import type { Attempt } from '../fire/attempt.js'

/** Settles the attempt in its transaction. Answers false if its timer was replaced: then nothing was done. */
type Settle = (outcome: Outcome) => Promise<boolean>

/** A transaction in which the owner of a shard settles one attempt, together with what its handler has written. */
export class ShardTransaction implements FiringTransaction {
  readonly #transaction: SettlingTransaction
  readonly #attempt: Attempt
  readonly #settle: Settle

  constructor(transaction: SettlingTransaction, attempt: Attempt, settle: Settle) {
    this.#transaction = transaction
    this.#attempt = attempt
    this.#settle = settle
  }

  get connection(): unknown {
    return this.#transaction.connection
  }

  async commit(outcome: Outcome): Promise<void> {
    const attempt = this.#attempt
    attempt.isSettled = await this.#settle(outcome)
    if (!attempt.isSettled) await this.#transaction.rollback()
    attempt.report(outcome)
  }

  rollback(): Promise<void> {
    return this.#transaction.rollback()
  }

  abandon(): void {
    this.#transaction.abandon()
  }
}
