import {
  type Firing,
  firingIdOf,
  type FiringTransaction,
  type Outcome,
  type TimerRow,
} from '../timer/index.js'
import type { Lane } from './lane.js'

/** Hears how an attempt ended. */
export interface AttemptListener {
  /** Whether its shard is here and leased: what is heard without that may be another owner's to say. */
  readonly isHeard: boolean
  ended(attempt: Attempt, outcome: Outcome): void
  /** It is to be settled by a transaction. */
  begin(attempt: Attempt): Promise<FiringTransaction>
}

/** A firing on its way: from being due, through its attempt, to its outcome. Its row may be rewritten meanwhile. */
export class Attempt implements Firing {
  row: TimerRow
  /** Where the row is in the window. */
  token: number
  /** The timer was set anew: what comes of this attempt is not followed. */
  isSuperseded = false
  /** Its outcome is stored already, by the transaction of its handler. */
  isSettled = false
  /** When it became due here; when it was started, by the monotonic clock; -1 before. */
  readonly readyAt: number
  startedAt = -1
  /** It stands in its lane's queue. */
  isQueued = false
  lane: Lane | undefined = undefined
  /** Its neighbours in the list of attempts under way. */
  before: Attempt | undefined = undefined
  after: Attempt | undefined = undefined
  firedAt = 0
  readonly attempt: number
  readonly #listener: AttemptListener
  /** How it ended; undefined before. */
  outcome: Outcome | undefined = undefined

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
    return this.outcome === undefined && this.#listener.isHeard
  }

  begin(): Promise<FiringTransaction> {
    return this.#listener.begin(this)
  }

  report(outcome: Outcome): void {
    if (this.outcome !== undefined) return
    this.outcome = outcome
    this.#listener.ended(this, outcome)
  }
}
