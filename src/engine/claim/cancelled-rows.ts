import type { Store } from '../../store/index.js'
import { isEnding } from '../../timer/index.js'
import type { ClaimedAttempt } from './claimed-attempt.js'

/**
 * Finds out which claimed rows were cancelled while they fire. A cancel of a recurring timer rewrites its row and keeps
 * the row claim, so the claim token needs the new revision. Until then the store refuses it.
 *
 * Proven by test/front/ending.test.ts.
 */
export class CancelledRows {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** The store has refused the tokens of these attempts. Answers those that have a new token, because of a cancel. */
  async renewTokens(attempts: readonly ClaimedAttempt[]): Promise<ReadonlySet<ClaimedAttempt>> {
    const renewed = new Set<ClaimedAttempt>()
    // Only a recurring timer can be cancelled while it fires.
    const some = attempts.filter(({ row }) => row.details !== '')
    if (some.length === 0) return renewed
    const rows = await this.#store.find(some.map(({ row }) => row))
    for (const [index, attempt] of some.entries()) {
      const row = rows[index]
      const { identity, occurrence, attempt: made, revision } = attempt.row
      if (row?.identity !== identity || row.occurrence !== occurrence || row.attempt !== made) continue
      if (row.revision === revision || !isEnding(row)) continue
      attempt.row = row
      attempt.claimToken = { ...attempt.claimToken, revision: row.revision }
      renewed.add(attempt)
    }
    return renewed
  }
}
