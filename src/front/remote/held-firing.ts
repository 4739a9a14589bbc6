import type { LeasedTimer } from '../../client/index.js'
import {
  encodeDetails,
  encodePayload,
  type Firing,
  type OccurrenceName,
  type Outcome,
  parseHandle,
  type TimerRow,
} from '../../timer/index.js'

/** What the process does for a held firing. */
export interface HeldFiringParts {
  /** Whether its lease has not ended, by the clock of this process. */
  readonly isLeased: (held: HeldFiring) => boolean
  readonly onPostpone: (held: HeldFiring) => void
  readonly onReport: (held: HeldFiring, outcome: Outcome) => void
}

/** A firing that a server leased to this process, in the shape that handlers need. Only its first report counts. */
export class HeldFiring implements Firing {
  readonly receipt: string
  readonly id: string
  readonly row: TimerRow
  readonly attempt: number
  readonly firedAt: number
  /** When the lease was last requested, on the monotonic clock of this process. */
  leasedAt: number
  isLost = false
  #isReported = false
  readonly #parts: HeldFiringParts

  constructor(leased: LeasedTimer, leasedAt: number, parts: HeldFiringParts) {
    const { attempt, firedAt } = leased
    const occurrence = occurrenceOf(leased)
    this.receipt = leased.receipt
    this.id = occurrence.id
    this.row = rowOf(leased, occurrence)
    this.attempt = attempt
    this.firedAt = firedAt
    this.leasedAt = leasedAt
    this.#parts = parts
  }

  get isLive(): boolean {
    return !this.#isReported && !this.isLost
  }

  start(): boolean {
    // The server has ended the lease already: this only frees its slot here.
    if (this.isLost)
      this.report({ type: 'retry', dueAt: 0, reason: 'the lease was lost before the attempt started' })
    return this.isLive && this.#parts.isLeased(this)
  }

  /** The lease goes on, and the same process delivers the firing again. */
  postpone(): void {
    this.#parts.onPostpone(this)
  }

  report(outcome: Outcome): void {
    if (this.#isReported) return
    this.#isReported = true
    this.#parts.onReport(this, outcome)
  }
}

/** The record as far as a worker knows it. The server keeps the schedule and the retries. */
function rowOf(leased: LeasedTimer, name: OccurrenceName): TimerRow {
  const { handle, key, payload, tags, dueAt, attempt, occurrence } = leased
  return {
    ...parseHandle(handle),
    createdAt: 0,
    payload: encodePayload(payload),
    tags,
    details: encodeDetails(name.key === key ? {} : { redriveOf: name }),
    dueAt,
    attempt: attempt - 1,
    occurrence,
    position: dueAt,
    revision: 0,
  }
}

/** The key and the id in the firing id `kind/key/id`. The key is another one than the timer's if it was redriven. */
function occurrenceOf({ id, kind }: LeasedTimer): OccurrenceName {
  const end = id.lastIndexOf('/')
  return { key: id.slice(kind.length + 1, end), id: id.slice(end + 1) }
}
