import type { TimerRow } from '../../timer/index.js'
import { Attempt, type AttemptListener } from '../fire/attempt.js'

export type AcceptedOffer = Pick<OfferedAttempt, 'offerName' | 'offerToken' | 'lookedUpAt'>

/** An attempt at a row that another owner has offered to this process. It has no place in a window. */
export class OfferedAttempt extends Attempt {
  /** Names row and offer within this process. */
  readonly offerName: string
  /** Names the offer in the row. */
  readonly offerToken: string
  /** When its row was looked up, by the monotonic clock. */
  readonly lookedUpAt: number

  constructor(row: TimerRow, readyAt: number, listener: AttemptListener, offer: AcceptedOffer) {
    super(row, -1, readyAt, listener)
    this.offerName = offer.offerName
    this.offerToken = offer.offerToken
    this.lookedUpAt = offer.lookedUpAt
  }
}
