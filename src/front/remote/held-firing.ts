import type { LeasedTimer } from '../../client/index.js'
import { encodePayload, type Firing, type Outcome, parseHandle, type TimerRow } from '../../timer/index.js'

/** A firing that a server leased to this process, as handlers take it. Only the first word on it counts. */
export class HeldFiring implements Firing {
  readonly receipt: string
  readonly id: string
  readonly row: TimerRow
  readonly attempt: number
  readonly firedAt: number
  /** When the lease was last asked for, by the monotonic clock of this process. */
  leasedAt: number
  isLost = false
  #isReported = false
  readonly #onReport: (held: HeldFiring, outcome: Outcome) => void

  constructor(leased: LeasedTimer, leasedAt: number, onReport: (held: HeldFiring, outcome: Outcome) => void) {
    const { kind, key, attempt, firedAt } = leased
    this.receipt = leased.receipt
    this.id = leased.id.slice(kind.length + key.length + 2)
    this.row = rowOf(leased)
    this.attempt = attempt
    this.firedAt = firedAt
    this.leasedAt = leasedAt
    this.#onReport = onReport
  }

  get isLive(): boolean {
    return !this.#isReported && !this.isLost
  }

  report(outcome: Outcome): void {
    if (this.#isReported) return
    this.#isReported = true
    this.#onReport(this, outcome)
  }
}

/** The record as far as a worker is told of it: its schedule and retries are the server's to follow. */
function rowOf({ handle, payload, tags, dueAt, attempt, occurrence }: LeasedTimer): TimerRow {
  return {
    ...parseHandle(handle),
    createdAt: 0,
    payload: encodePayload(payload),
    tags,
    details: '',
    dueAt,
    attempt: attempt - 1,
    occurrence,
    position: dueAt,
    seq: 0,
    revision: 0,
  } as TimerRow
}
