import type { Clock } from '../../time/index.js'
import {
  type Deliver,
  type FiringTransaction,
  isEnding,
  isHeld,
  isPastLast,
  lastUnknown,
  type Outcome,
  type TimerRow,
} from '../../timer/index.js'
import { Attempt, type AttemptListener } from './attempt.js'
import type { DeliveryPolicy } from '../delivery-policy.js'
import type { HandedOverAttempts } from '../own/handed-over-attempts.js'
import type { StartHolds } from '../write/start-holds.js'
import { DueAlarm } from './due-alarm.js'
import { DueRows } from './due-rows.js'
import type { HeldAttempts } from './held-attempts.js'
import type { Lane } from './lane.js'
import { Lanes } from './lanes.js'
import type { Ownership } from '../own/ownership.js'
import { ShardStartGuard } from './shard-start-guard.js'
import type { StartBudget } from './start-budget.js'
import type { Throttles } from './throttles.js'
import type { EngineCounts } from '../counts.js'
import type { Window } from '../load/window.js'
import { entryState } from '../load/window-page.js'
import type { OutcomeQueue } from '../settle/outcome-queue.js'
import { CHECKED_FOR_MS, DUE_AT_ONCE } from '../defaults.js'

const { READY, STARTED, REPORTED, LEAVING, DONE, GONE, HELD } = entryState

interface AttemptsParts {
  readonly window: Window
  readonly clock: Clock
  readonly ownership: Ownership
  readonly startHolds: StartHolds
  readonly deliver: Deliver
  readonly policy: DeliveryPolicy
  readonly throttles: Throttles
  readonly startBudget: StartBudget
  readonly counts: EngineCounts
  readonly outcomes: OutcomeQueue
  /** Attempts that other processes run. */
  readonly heldAttempts: HeldAttempts
  /** Attempts that go on here after their shard was released. */
  readonly handedAttempts: HandedOverAttempts
  /** All due timers have been started, or wait in their lanes. */
  readonly onDueStarted: () => void
  /** Begins a transaction that settles the attempt. */
  readonly begin: (attempt: Attempt) => Promise<FiringTransaction>
}

/**
 * The way of a shard's timers from due to outcome. The wheel gives out due rows, lanes start them, and their outcomes
 * go to the outcome queue. Due time and lease are checked again when the handler actually starts (rule 6).
 *
 * Proven by test/engine/engine.test.ts, test/engine/ownership.test.ts, test/engine/early-tokens.test.ts and the mutants
 * 'the lease is not checked at each start', 'the due time is not checked at each start', 'an attempt that was given back is forgotten', 'a timer that was replaced while its batch waited still starts',
 * 'a timer starts late although a request that replaces it is under way'.
 */
export class Attempts implements AttemptListener {
  readonly #parts: AttemptsParts
  readonly #window: Window
  readonly #clock: Clock
  readonly #ownership: Ownership
  readonly #outcomes: OutcomeQueue
  readonly #handedAttempts: HandedOverAttempts
  readonly #alarm: DueAlarm
  readonly #guard: ShardStartGuard
  readonly #lanes: Lanes
  readonly #startBudget: StartBudget
  readonly #dueRows: DueRows
  #isStartingDue = false
  // Timers that became due since the lanes were last flushed.
  #dueSinceFlush = 0
  // Until when, by the monotonic clock, starts need no further check, and the store's time at that check.
  #checkedUntil = -Infinity
  #checkedIn = -1
  #checkedNow = -Infinity
  #isOver = false

  constructor(parts: AttemptsParts) {
    const { window, clock, ownership, startHolds } = parts
    this.#parts = parts
    this.#window = window
    this.#clock = clock
    this.#ownership = ownership
    this.#outcomes = parts.outcomes
    this.#handedAttempts = parts.handedAttempts
    this.#alarm = new DueAlarm(clock, window, () => this.startDue())
    this.#guard = new ShardStartGuard(window, ownership, startHolds, this.#alarm)
    this.#lanes = new Lanes({ ...parts, guard: this.#guard })
    this.#startBudget = parts.startBudget
    this.#dueRows = new DueRows(window)
  }

  /** How many attempts are under way. */
  get running(): number {
    return this.#lanes.running
  }

  get isHeard(): boolean {
    return !this.#isOver && this.#ownership.isLeased
  }

  get started(): Iterable<Attempt> {
    return this.#lanes.started
  }

  /** The lanes in which due timers wait, one for each kind. */
  get lanes(): Iterable<Lane> {
    return this.#lanes
  }

  /** The timer that has waited longest to be started; undefined when none waits. */
  oldestReady(): Attempt | undefined {
    return this.#lanes.oldestReady()
  }

  /** Whether a due timer waits whose kind has a handler and is not paused. */
  get isAnyStartable(): boolean {
    return !this.#dueRows.isEmpty || this.#lanes.isAnyStartable
  }

  /** From now on due timers are started. */
  start(): void {
    this.#guard.open()
    this.startDue()
  }

  /** From now on nothing is started. Attempts under way go on. */
  halt(): void {
    this.#guard.close()
    this.#alarm.cancel()
  }

  /** From now on outcomes are ignored, too. Handlers of attempts under way are told that they no longer count. */
  abandonAll(): void {
    this.halt()
    this.#isOver = true
    for (const attempt of this.#lanes.started) {
      // Whether an attempt that is being handed over still counts is looked up.
      if (attempt.handed === undefined && !attempt.isBeingHanded && !attempt.isSuperseded) attempt.abandon()
    }
    this.#lanes.detach()
  }

  /** Starts what is due now and sets the alarm for what is next. */
  startDue(): void {
    // A handler may call back in here. It need not be served at once: all lanes are flushed in the end.
    if (!this.#guard.isOpen || this.#isStartingDue) return
    this.#isStartingDue = true
    try {
      this.#takeDue(this.#clock.now())
    } finally {
      this.#isStartingDue = false
    }
    this.#flush()
    this.#parts.onDueStarted()
    this.#alarm.set()
  }

  #takeDue(now: number): void {
    if (this.#alarm.hasEarly) for (const token of this.#alarm.takeEarly()) this.#onDue(token, now)
    let isLater = this.#isForLater
    while (!isLater) {
      const token = this.#dueRows.take()
      if (token < 0) break
      isLater = this.#startSoon(token, now)
    }
    this.#window.advance(now, (token) => {
      if (isLater) this.#setAside(token)
      else isLater = this.#startSoon(token, now)
    })
    if (!this.#dueRows.isEmpty) this.#startBudget.next(this.#startDueOn)
  }

  readonly #startDueOn = (): void => this.startDue()

  /** Starts a due row with the next flush. Answers whether further ones are for later. */
  #startSoon(token: number, now: number): boolean {
    this.#onDue(token, now)
    if (++this.#dueSinceFlush < DUE_AT_ONCE) return false
    this.#flush()
    return this.#isForLater
  }

  /**
   * Whether further due rows wait for the next turn of the event loop. If a lane has not started all it has and the
   * handlers are not quick, they go to their lanes instead: a slow kind delays no other.
   */
  get #isForLater(): boolean {
    if (!this.#startBudget.isOver) return false
    return this.#startBudget.isQuick || !this.#lanes.isAnyWaiting
  }

  #setAside(token: number): void {
    const page = this.#window.page(token)
    const index = this.#window.index(token)
    if (page.states[index] === GONE) return
    page.states[index] = READY
    this.#dueRows.add(token, page.revisions[index]!)
  }

  #onDue(token: number, now: number): void {
    const page = this.#window.page(token)
    const index = this.#window.index(token)
    if (page.states[index] === GONE) return
    const row = page.row(index)
    if (isHeld(row)) {
      this.#parts.heldAttempts.add(token, this)
      return
    }
    page.states[index] = READY
    if (row.dueAt > now) {
      this.#alarm.addEarly(token, row.revision, row.dueAt)
      return
    }
    const attempt = new Attempt(row, token, now, this)
    page.attempts[index] = attempt
    if (!isPastLast(row)) {
      this.#lanes.enqueue(attempt)
      return
    }
    page.states[index] = REPORTED
    this.#giveUp(attempt)
  }

  /** The timer was cancelled while it fired, and nobody will know how that attempt ended: nothing starts any more. */
  #giveUp(attempt: Attempt): void {
    this.#outcomes.noteGivenUp(attempt, lastUnknown.reason)
    this.#outcomes.addReport(attempt, lastUnknown)
  }

  /** Until `resume` nothing becomes due and nothing starts. */
  suspend(): void {
    this.#guard.suspend()
  }

  resume(): void {
    this.#guard.resume()
    this.startDue()
  }

  /** New rows may be due before the alarm. */
  setAlarm(): void {
    if (this.#guard.isFiring) this.#alarm.set()
  }

  /** The hold of these rows has ended: they may start, if they are still here. */
  unpark(tokens: readonly number[]): void {
    for (const token of tokens) {
      const attempt = this.#window.page(token)?.attempts[this.#window.index(token)]
      if (attempt !== undefined && this.#window.state(token) === READY) this.#lanes.enqueue(attempt)
    }
    this.#flush()
  }

  /** The lease was renewed: lanes that waited for it may start. */
  onLeased(): void {
    const lanes = this.#guard.takeWithoutLease()
    if (lanes.length === 0) return
    for (const lane of lanes) this.#lanes.mark(lane)
    this.#flush()
  }

  /** The kinds that may run have perhaps changed: looks at all lanes again. */
  refresh(): void {
    this.#lanes.markAll()
    this.startDue()
  }

  begin(attempt: Attempt): Promise<FiringTransaction> {
    return this.#parts.begin(attempt)
  }

  confirmStart(attempt: Attempt, at = this.#clock.monotonic()): boolean {
    if (attempt.outcome !== undefined) return false
    if (attempt.handed !== undefined || this.#isOver || attempt.isSuperseded) {
      this.#lanes.removeEnded(attempt)
      if (attempt.isBeingHanded) attempt.startedAt = -1
      // The new owner may have replaced the timer since, so only it may start the attempt.
      if (attempt.handed !== undefined) this.#handedAttempts.unstarted(attempt)
      this.#lanes.startWaiting(attempt)
      return false
    }
    // A request that replaces the timer is on its way to the store, and its caller may be answered before this process.
    if (this.#parts.startHolds.isNameHeld(attempt.row)) {
      this.#takeBack(attempt)
      this.#lanes.resumeLater(attempt.lane!)
      return false
    }
    const { dueAt } = attempt.row
    const { delivery } = this.#lanes
    const isChecked = delivery === this.#checkedIn && at < this.#checkedUntil && dueAt <= this.#checkedNow
    if (isChecked && !this.#ownership.isOver) return true
    const now = this.#clock.now()
    const mayStart = this.#ownership.mayStart
    if (dueAt <= now && mayStart) {
      this.#checkedIn = delivery === 0 ? -1 : delivery
      this.#checkedUntil = at + CHECKED_FOR_MS
      this.#checkedNow = now
      return true
    }
    this.#takeBack(attempt)
    // The store's clock may have been set back since it was delivered.
    if (mayStart) this.#lanes.resumeLater(attempt.lane!)
    else this.#guard.waitForLease(attempt.lane!)
    return false
  }

  postponed(attempt: Attempt): void {
    // An attempt that may not start at all is not offered again.
    if (!this.confirmStart(attempt)) return
    this.#takeBack(attempt)
    this.#lanes.resumeLater(attempt.lane!)
  }

  #takeBack(attempt: Attempt): void {
    // In any other state, a settlement that carries the row is on its way. It will find the attempt unstarted.
    if (this.#window.state(attempt.token) === STARTED) this.#window.setState(attempt.token, READY)
    this.#lanes.takeBack(attempt)
  }

  ended(attempt: Attempt, outcome: Outcome): void {
    this.#lanes.removeEnded(attempt)
    if (attempt.handed !== undefined) {
      this.#handedAttempts.ended(attempt, outcome, this.#outcomes.handedNotes(attempt, outcome))
      this.#lanes.startWaiting(attempt)
      return
    }
    if (this.#isOver) return
    if (attempt.isSettled) {
      this.#lanes.startWaiting(attempt)
      return
    }
    this.#outcomes.noteEnded(attempt, outcome)
    this.#parts.counts.ended(attempt, outcome)
    if (attempt.isSuperseded) {
      this.#parts.counts.superseded++
    } else if (outcome.type === 'done') {
      // In any other state, a settlement that carries the row is on its way. It will find the attempt done.
      if (this.#window.state(attempt.token) === STARTED) {
        this.#window.setState(attempt.token, DONE)
        this.#window.page(attempt.token).attempts[this.#window.index(attempt.token)] = undefined
      }
      this.#outcomes.addDone()
    } else {
      if (this.#window.state(attempt.token) === STARTED) this.#window.setState(attempt.token, REPORTED)
      this.#outcomes.addReport(attempt, outcome)
    }
    this.#lanes.startWaiting(attempt)
  }

  /** An earlier owner may have attempted this row: it waits until that is written down. */
  setSuspectAside(token: number): void {
    const page = this.#window.page(token)
    const index = this.#window.index(token)
    page.states[index] = REPORTED
    const attempt = new Attempt(page.row(index), token, this.#clock.now(), this)
    page.attempts[index] = attempt
    this.#outcomes.noteUnknown(attempt)
    if (isEnding(attempt.row)) this.#giveUp(attempt)
    else this.#outcomes.addReport(attempt, { type: 'record' })
  }

  /** The shard is being released, and the store records that this attempt goes on here. */
  handOver(attempt: Attempt): void {
    this.#outcomes.withdraw(attempt)
    this.#handedAttempts.add(attempt, (outcome) => this.#outcomes.handedNotes(attempt, outcome))
  }

  /** The shard was lost while the hand-over of these attempts was on its way. The store may have recorded it. */
  lookUpHanded(attempts: readonly Attempt[]): void {
    if (attempts.length === 0) return
    void this.#handedAttempts.lookUp(attempts, (attempt, outcome) =>
      this.#outcomes.handedNotes(attempt, outcome),
    )
  }

  /** Its row was rewritten under the same identity: the attempt goes on with the new one, whatever the read level. */
  rewrite(attempt: Attempt, row: TimerRow): void {
    const before = this.#window.state(attempt.token)
    if (!attempt.isSuperseded) this.#window.remove(attempt.token)
    attempt.row = row
    attempt.token = this.#window.addRow(row, before === LEAVING ? stateOf(attempt) : before)
    this.#window.page(attempt.token).attempts[this.#window.index(attempt.token)] = attempt
    if (attempt.startedAt < 0) this.enqueue(attempt)
  }

  /** A row that waits to be started goes back to its lane, whether it was rewritten or not. */
  enqueue(attempt: Attempt): void {
    this.#lanes.enqueue(attempt)
    this.#flush()
  }

  #flush(): void {
    this.#dueSinceFlush = 0
    this.#lanes.flush()
  }
}

/** The state of a carried row. Its attempt may have ended, or been taken back, while the settlement was on its way. */
export function stateOf({ outcome, startedAt, isElsewhere }: Attempt): number {
  if (isElsewhere) return HELD
  if (startedAt < 0) return READY
  if (outcome === undefined) return STARTED
  return outcome.type === 'done' ? DONE : REPORTED
}
