import type { ClaimedRow, HistoryEntry } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import {
  type Deliver,
  type FiringTransaction,
  isPastLast,
  lastUnknown,
  type Outcome,
  type TimerRow,
} from '../../timer/index.js'
import { Attempt, type AttemptListener } from '../fire/attempt.js'
import type { EngineCounts } from '../counts.js'
import type { DeliveryPolicy } from '../delivery-policy.js'
import type { Lane } from '../fire/lane.js'
import { type StartGuard, Lanes } from '../fire/lanes.js'
import type { Reading } from '../own/ownership.js'
import type { StartBudget } from '../fire/start-budget.js'
import type { Throttles } from '../fire/throttles.js'
import type { EngineSettings } from '../settings.js'
import type { RowProgress } from '../shard-engine.js'
import { ClaimedAttempt } from './claimed-attempt.js'
import type { ClaimedRows } from './claimed-rows.js'

/** Receives the outcomes of attempts, and entries for the history. */
export interface ClaimedAttemptsListener {
  ended(attempt: ClaimedAttempt, outcome: Outcome): void
  begin(attempt: ClaimedAttempt): Promise<FiringTransaction>
  noted(entries: readonly HistoryEntry[]): void
}

/**
 * The attempts at claimed rows, from claimed to ended. Nothing starts on a row claim that may be over: the next instance
 * that claims the row starts it.
 *
 * Proven by test/engine/claim.test.ts.
 */
export class ClaimedAttempts implements AttemptListener, StartGuard {
  readonly #clock: Clock
  readonly #machineClock: Clock
  readonly #settings: EngineSettings
  readonly #policy: DeliveryPolicy
  readonly #memberId: string
  readonly #isClockRight: () => boolean
  readonly #listener: ClaimedAttemptsListener
  readonly #rows: ClaimedRows
  readonly #lanes: Lanes
  #isOpen = false

  constructor(parts: {
    clock: Clock
    machineClock: Clock
    settings: EngineSettings
    deliver: Deliver
    policy: DeliveryPolicy
    throttles: Throttles
    startBudget: StartBudget
    counts: EngineCounts
    memberId: string
    isClockRight: () => boolean
    listener: ClaimedAttemptsListener
    rows: ClaimedRows
  }) {
    this.#clock = parts.clock
    this.#machineClock = parts.machineClock
    this.#settings = parts.settings
    this.#policy = parts.policy
    this.#memberId = parts.memberId
    this.#isClockRight = parts.isClockRight
    this.#listener = parts.listener
    this.#rows = parts.rows
    this.#lanes = new Lanes({ ...parts, guard: this })
  }

  /** Each attempt knows by its own claim whether it is still ours. */
  readonly isHeard = true

  /** How many attempts are under way. */
  get running(): number {
    return this.#lanes.running
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** From now on claimed rows are started. */
  open(): void {
    this.#isOpen = true
    this.refresh()
  }

  /** Adds claimed rows, and starts those that may start. `leasedAt` is from before they were asked for. */
  addClaimed(claimed: readonly ClaimedRow[], leasedAt: Reading): void {
    const now = this.#clock.now()
    for (const each of claimed) {
      const attempt = new ClaimedAttempt(each, leasedAt, now, this)
      this.#rows.add(attempt)
      if (each.lostOwner !== undefined) this.#noteLost(each.row, each.lostOwner, now)
      if (isPastLast(each.row)) attempt.report(lastUnknown)
      else this.#lanes.enqueue(attempt)
    }
    this.#lanes.flush()
  }

  /** What kinds may run may have changed, or whether the clock is right. */
  refresh(): void {
    this.#lanes.markAll()
    this.#lanes.flush()
  }

  /** Starts nothing more. Answers the rows that were not started: they are no longer claimed here. */
  close(): ClaimedAttempt[] {
    this.#isOpen = false
    const unstarted = [...this.#rows].filter(({ startedAt }) => startedAt < 0)
    for (const attempt of unstarted) {
      attempt.isSuperseded = true
      this.#rows.forget(attempt)
    }
    return unstarted
  }

  progressOf(row: TimerRow): RowProgress {
    const attempt = this.#rows.get(row)
    if (attempt === undefined || attempt.startedAt < 0) return 'waiting'
    const { identity, occurrence } = attempt.row
    const isSame = row.identity === identity && row.occurrence === occurrence
    if (!isSame || row.attempt + 1 !== attempt.attempt) return 'waiting'
    return attempt.outcome?.type === 'done' ? 'over' : 'firing'
  }

  ended(attempt: Attempt, outcome: Outcome): void {
    // A timer that was cancelled while it fired may end without a start.
    const isStarted = attempt.lane !== undefined
    if (isStarted) this.#lanes.removeEnded(attempt)
    this.#listener.ended(attempt as ClaimedAttempt, outcome)
    if (isStarted) this.#lanes.startWaiting(attempt)
  }

  begin(attempt: Attempt): Promise<FiringTransaction> {
    return this.#listener.begin(attempt as ClaimedAttempt)
  }

  confirmStart(attempt: ClaimedAttempt): boolean {
    if (attempt.outcome !== undefined) return false
    if (!attempt.isSuperseded && this.#isClockRight() && this.#isLeased(attempt)) return true
    if (attempt.isSuperseded || !this.#isLeased(attempt)) {
      // The next instance that claims the row starts it.
      attempt.isSuperseded = true
      this.#lanes.removeEnded(attempt)
      this.#rows.forget(attempt)
      this.#lanes.startWaiting(attempt)
      return false
    }
    this.#lanes.takeBack(attempt)
    return false
  }

  postponed(attempt: Attempt): void {
    if (attempt.outcome !== undefined) return
    this.#lanes.takeBack(attempt)
    this.#lanes.resumeLater(attempt.lane!)
  }

  #isLeased(attempt: ClaimedAttempt): boolean {
    const { leaseMs, leaseMarginMs } = this.#settings
    const reading = { monotonic: this.#clock.monotonic(), wall: this.#machineClock.now() }
    return attempt.isHeldFor(leaseMs - leaseMarginMs, reading)
  }

  mayStart(_lane: Lane): boolean {
    // A lane that must wait is tried again with the next heartbeat.
    return this.#isClockRight()
  }

  /** The store has found it due, so only the claim is checked. */
  admits(attempt: ClaimedAttempt): boolean {
    if (attempt.isSuperseded) return false
    if (!this.#isLeased(attempt)) {
      this.#rows.forget(attempt)
      return false
    }
    return true
  }

  /** The instance that had claimed the row before may have begun the attempt that this claim has counted. */
  #noteLost(row: TimerRow, from: string, at: number): void {
    const unknown = new Attempt({ ...row, attempt: row.attempt - 1 }, -1, at, this)
    const ownerChange = { from, to: this.#memberId, at }
    const { namespace, kind, key, identity } = row
    const notes = this.#policy.notesOf(unknown, { type: 'unknown', at, ownerChange })
    const entries: HistoryEntry[] = []
    for (const note of notes) entries.push({ namespace, kind, key, identity, ...note })
    this.#listener.noted(entries)
  }
}
