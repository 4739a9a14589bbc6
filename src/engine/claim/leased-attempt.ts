import type { ClaimedRow, Receipt } from '../../store/index.js'
import { Attempt, type AttemptListener } from '../attempt.js'
import type { Reading } from '../ownership.js'

/** An attempt at a row that this instance holds by a lease of the row's own. */
export class LeasedAttempt extends Attempt {
  readonly receipt: Receipt
  /** Both clocks before the lease was asked for or prolonged: it runs from then. */
  leasedAt: Reading
  /** The row is this instance's still, as far as it has heard. */
  isHeld = true
  /** Its outcome is on its way to the store. */
  isSettling = false
  /** Its outcome may be stored already: an answer that says otherwise proves nothing. */
  isUnsure = false

  constructor({ row, receipt }: ClaimedRow, leasedAt: Reading, readyAt: number, listener: AttemptListener) {
    super(row, -1, readyAt, listener)
    this.receipt = receipt
    this.leasedAt = leasedAt
  }

  override get isLive(): boolean {
    return super.isLive && this.isHeld
  }

  /** Whether the lease still runs by both clocks, when it is taken to last so long. */
  isHeldFor(leaseMs: number, now: Reading): boolean {
    const { monotonic, wall } = this.leasedAt
    return now.monotonic < monotonic + leaseMs && now.wall < wall + leaseMs
  }
}
