import { StateError } from '../../error/index.js'
import {
  type Firing,
  firingIdOf,
  type FiringTransaction,
  lastOutcome,
  type Outcome,
  type TimerRow,
} from '../../timer/index.js'
import type { Lane } from './lane.js'

/** What an attempt asks and reports. */
export interface AttemptListener {
  /** Whether the shard is here and leased: otherwise another owner may decide about the attempt. */
  readonly isHeard: boolean
  ended(attempt: Attempt, outcome: Outcome): void
  /** Whether it may start now; `at` is the monotonic time, if it is known. If it may not, it is taken back. */
  confirmStart(attempt: Attempt, at?: number): boolean
  /** It was not started, and is to be delivered again in a later turn of the event loop. */
  postponed(attempt: Attempt): void
  /** Begins a transaction that settles it. */
  begin(attempt: Attempt): Promise<FiringTransaction>
}

/** One attempt at a timer, from due to outcome. Its row may be rewritten meanwhile. */
export class Attempt implements Firing {
  row: TimerRow
  /** Where the row is in the window. */
  token: number
  /** The timer was replaced, moved or cancelled: nothing follows from this attempt. */
  isSuperseded = false
  /** The transaction of its handler has stored its outcome. */
  isSettled = false
  /** Set once it goes on here although its shard has another owner. */
  handed: { readonly isLive: boolean } | undefined = undefined
  /** A settlement is on its way that records the hand-over of this attempt. */
  isBeingHanded = false
  /** Another process runs it, and will report its outcome to this owner. */
  isElsewhere = false
  /** When it became due here, by the store's clock. */
  readonly readyAt: number
  /** When it was started, by the monotonic clock; -1 before that. */
  startedAt = -1
  /** It waits in the queue of its lane. */
  isQueued = false
  lane: Lane | undefined = undefined
  /** Its neighbours in the list of attempts under way. */
  before: Attempt | undefined = undefined
  after: Attempt | undefined = undefined
  firedAt = 0
  readonly attempt: number
  readonly #listener: AttemptListener
  /** How it ended; undefined until then. */
  outcome: Outcome | undefined = undefined
  onAbandoned: ((reason: Error) => void) | undefined = undefined

  constructor(row: TimerRow, token: number, readyAt: number, listener: AttemptListener) {
    this.row = row
    this.token = token
    this.readyAt = readyAt
    this.attempt = row.attempt + 1
    this.#listener = listener
  }

  get id(): string {
    return firingIdOf(this.row)
  }

  get isLive(): boolean {
    return this.outcome === undefined && (this.handed?.isLive ?? this.#listener.isHeard)
  }

  start(at?: number): boolean {
    return this.#listener.confirmStart(this, at)
  }

  postpone(): void {
    this.#listener.postponed(this)
  }

  /** Aborts its handler: whatever it does no longer counts. */
  abandon(): void {
    if (this.outcome !== undefined || this.onAbandoned === undefined) return
    this.onAbandoned(
      new StateError(
        'attempt-lost',
        'another instance owns this timer now: what this attempt does no longer counts',
      ),
    )
  }

  begin(): Promise<FiringTransaction> {
    return this.#listener.begin(this)
  }

  report(outcome: Outcome): void {
    if (this.outcome !== undefined) return
    // The timer may have been cancelled during the attempt.
    this.outcome = lastOutcome(this.row, outcome)
    this.#listener.ended(this, this.outcome)
  }
}
