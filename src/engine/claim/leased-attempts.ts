import type { ClaimedRow, HistoryEntry, HistoryNote } from '../../store/index.js'
import type { Clock, Wake } from '../../time/index.js'
import {
  type Deliver,
  type FiringTransaction,
  nameText,
  type Outcome,
  type TimerRow,
} from '../../timer/index.js'
import { Attempt, type AttemptListener } from '../attempt.js'
import type { EngineCounts } from '../engine-counts.js'
import type { Flow } from '../flow.js'
import type { Lane } from '../lane.js'
import { type Gate, Lanes } from '../lanes.js'
import type { Reading } from '../ownership.js'
import type { Throttles } from '../throttles.js'
import type { EngineSettings } from '../settings.js'
import type { RowProgress } from '../shard-engine.js'
import { LeasedAttempt } from './leased-attempt.js'

/** Hears of attempts that ended, and of what the history is to get besides. */
export interface LeasedAttemptsListener {
  ended(attempt: LeasedAttempt, outcome: Outcome): void
  begin(attempt: LeasedAttempt): Promise<FiringTransaction>
  noted(entries: readonly HistoryEntry[]): void
}

/**
 * The rows this instance holds, from claimed to settled. Nothing starts before its due time by this machine's
 * clock, nor on a lease that may be over: such a row is left to whoever claims it next.
 */
export class LeasedAttempts implements AttemptListener, Gate {
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #flow: Flow
  readonly #memberId: string
  readonly #isClockRight: () => boolean
  readonly #listener: LeasedAttemptsListener
  readonly #lanes: Lanes
  readonly #held = new Map<string, LeasedAttempt>()
  // Rows that are due by the store's clock and not yet by ours.
  readonly #early = new Map<LeasedAttempt, Wake>()
  #isOpen = false

  constructor(parts: {
    clock: Clock
    settings: EngineSettings
    deliver: Deliver
    flow: Flow
    throttles: Throttles
    counts: EngineCounts
    memberId: string
    isClockRight: () => boolean
    listener: LeasedAttemptsListener
  }) {
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#flow = parts.flow
    this.#memberId = parts.memberId
    this.#isClockRight = parts.isClockRight
    this.#listener = parts.listener
    this.#lanes = new Lanes({ ...parts, gate: this })
  }

  /** Each attempt knows by its lease whether it is ours still. */
  readonly isHeard = true

  /** Attempts under way. */
  get running(): number {
    return this.#lanes.running
  }

  /** Rows that are held, started or not, until they are settled. */
  get size(): number {
    return this.#held.size
  }

  get held(): Iterable<LeasedAttempt> {
    return this.#held.values()
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Starts what comes from now on. */
  open(): void {
    this.#isOpen = true
    this.refresh()
  }

  /** Takes rows that were claimed, and starts those that may start. `leasedAt` is from before they were asked for. */
  take(claimed: readonly ClaimedRow[], leasedAt: Reading): void {
    const now = this.#clock.now()
    for (const each of claimed) {
      const attempt = new LeasedAttempt(each, leasedAt, now, this)
      this.#held.set(nameText(each.row), attempt)
      if (each.lostOwner !== undefined) this.#noteLost(each.row, each.lostOwner, now)
      this.#lanes.offer(attempt)
    }
    this.#lanes.flush()
  }

  /** What kinds are allowed, or the clock, may have changed. */
  refresh(): void {
    this.#lanes.markAll()
    this.#lanes.flush()
  }

  /** Starts nothing more. Answers the rows that were not started, which are held no longer. */
  close(): LeasedAttempt[] {
    this.#isOpen = false
    for (const wake of this.#early.values()) wake.cancel()
    this.#early.clear()
    const unstarted = [...this.#held.values()].filter(({ startedAt }) => startedAt < 0)
    for (const attempt of unstarted) {
      attempt.isSuperseded = true
      this.forget(attempt)
    }
    return unstarted
  }

  /** From now on the row is nobody's, or another's. */
  forget(attempt: LeasedAttempt): void {
    attempt.isHeld = false
    const name = nameText(attempt.receipt)
    if (this.#held.get(name) === attempt) this.#held.delete(name)
  }

  progressOf(row: TimerRow): RowProgress {
    const attempt = this.#held.get(nameText(row))
    if (attempt?.receipt.revision !== row.revision || attempt.startedAt < 0) return 'waiting'
    return attempt.outcome?.type === 'done' ? 'over' : 'firing'
  }

  ended(attempt: Attempt, outcome: Outcome): void {
    this.#lanes.leave(attempt)
    this.#listener.ended(attempt as LeasedAttempt, outcome)
    this.#lanes.goOn(attempt)
  }

  begin(attempt: Attempt): Promise<FiringTransaction> {
    return this.#listener.begin(attempt as LeasedAttempt)
  }

  /** What the history gets of an attempt that ended. */
  notesOf(attempt: Attempt, outcome: Outcome, isFollowed: boolean): readonly HistoryNote[] {
    const at = this.#clock.now()
    return this.#flow.notesOf(attempt, { type: 'ended', outcome, at, isFollowed, handOver: undefined })
  }

  mayStart(_lane: Lane): boolean {
    // A lane that must wait is looked at again with the next heartbeat.
    return this.#isClockRight()
  }

  admits(attempt: LeasedAttempt, now: number): boolean {
    if (attempt.isSuperseded) return false
    const { leaseMs, leaseMarginMs } = this.#settings
    const reading = { monotonic: this.#clock.monotonic(), wall: now }
    if (!attempt.isHeldFor(leaseMs - leaseMarginMs, reading)) {
      this.forget(attempt)
      return false
    }
    if (attempt.row.dueAt <= now) return true
    this.#postpone(attempt)
    return false
  }

  #postpone(attempt: LeasedAttempt): void {
    const wake = this.#clock.wakeAt(attempt.row.dueAt, () => {
      this.#early.delete(attempt)
      this.#lanes.offer(attempt)
      this.#lanes.flush()
    })
    this.#early.set(attempt, wake)
  }

  /** Whoever held it before may have begun the attempt that was counted when it was claimed. */
  #noteLost(row: TimerRow, from: string, at: number): void {
    const unknown = new Attempt({ ...row, attempt: row.attempt - 1 }, -1, at, this)
    const handOver = { from, to: this.#memberId, at }
    const { namespace, kind, key, identity } = row
    const notes = this.#flow.notesOf(unknown, { type: 'unknown', at, handOver })
    const entries: HistoryEntry[] = []
    for (const note of notes) entries.push({ namespace, kind, key, identity, ...note })
    this.#listener.noted(entries)
  }
}
