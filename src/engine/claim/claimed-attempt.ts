import type { ClaimedRow, ClaimToken } from '../../store/index.js'
import { Attempt, type AttemptListener } from '../fire/attempt.js'
import type { Reading } from '../own/ownership.js'

/** An attempt at a row that this instance has claimed. */
export class ClaimedAttempt extends Attempt {
  claimToken: ClaimToken
  /** What both clocks showed before the claim was asked for or renewed: it counts from then. */
  leasedAt: Reading
  /** The row is still claimed by this instance, as far as it knows. */
  isHeld = true
  /** Its outcome is on its way to the store. */
  isSettling = false
  /** Its outcome may be stored already: a refusal proves nothing then. */
  isUnsure = false

  constructor({ row, token }: ClaimedRow, leasedAt: Reading, readyAt: number, listener: AttemptListener) {
    super(row, -1, readyAt, listener)
    this.claimToken = token
    this.leasedAt = leasedAt
  }

  override get isLive(): boolean {
    return super.isLive && this.isHeld
  }

  /** Whether a claim of `leaseMs` still runs, by both clocks. */
  isHeldFor(leaseMs: number, now: Reading): boolean {
    const { monotonic, wall } = this.leasedAt
    return now.monotonic < monotonic + leaseMs && now.wall < wall + leaseMs
  }
}
