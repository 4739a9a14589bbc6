import type { HistoryEntry } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'
import type { Deliver, FiringTransaction, Outcome } from '../timer/index.js'
import { Attempt, type AttemptListener } from './attempt.js'
import type { Ending, Flow } from './flow.js'
import type { HandOvers } from './hand-over.js'
import type { Holds } from './holds.js'
import type { Lane } from './lane.js'
import { type Gate, Lanes } from './lanes.js'
import type { Ownership } from './ownership.js'
import type { Throttles } from './throttles.js'
import type { EngineCounts } from './engine-counts.js'
import type { Window } from './window.js'
import { entryState } from './window-page.js'

const { READY, STARTED, REPORTED, DONE, GONE } = entryState

// So many due timers are taken to their handlers before the next are looked at: what is made for them is small
// enough to stay in the cache, and gone before the collector comes.
const DUE_AT_ONCE = 1000

/** What the next settlement has to write for a row. */
export interface Report {
  readonly attempt: Attempt
  readonly outcome: ReportedOutcome
}

type ReportedOutcome =
  | Exclude<Outcome, { readonly type: 'done' }>
  /** An owner before may have attempted it: that is written down before the next attempt. */
  | { readonly type: 'record' }

/**
 * From due to outcome. Nothing starts before its due time, by a look at the clock at the moment of starting;
 * nothing starts on a lease that is over, or while a move or cancel of it is on its way to the store.
 */
export class Attempts implements AttemptListener, Gate {
  readonly #window: Window
  readonly #clock: Clock
  readonly #ownership: Ownership
  readonly #holds: Holds
  readonly #flow: Flow
  readonly #handOvers: HandOvers
  readonly #counts: EngineCounts
  readonly #onReport: () => void
  readonly #onLooked: () => void
  readonly #begin: (attempt: Attempt) => Promise<FiringTransaction>
  readonly #lanes: Lanes
  // Lanes that could not start because the lease was over.
  readonly #withoutLease = new Set<Lane>()
  #reports: Report[] = []
  #notes: HistoryEntry[] = []
  // Rows the wheel gave out before their time by the wall clock, which must have been set back.
  #early: { readonly token: number; readonly revision: number; readonly dueAt: number }[] = []
  #wake: Wake | undefined
  #wakeAt = Infinity
  #isLooking = false
  // Timers that became due since lanes were last looked at.
  #dueSince = 0
  #isSuspended = false
  #isFiring = false
  #isOver = false

  constructor(parts: {
    window: Window
    clock: Clock
    ownership: Ownership
    holds: Holds
    deliver: Deliver
    flow: Flow
    throttles: Throttles
    handOvers: HandOvers
    counts: EngineCounts
    /** There is something to settle. */
    onReport: () => void
    /** What was due has been started, or waits. */
    onLooked: () => void
    /** An attempt is to be settled by a transaction. */
    begin: (attempt: Attempt) => Promise<FiringTransaction>
  }) {
    this.#window = parts.window
    this.#clock = parts.clock
    this.#ownership = parts.ownership
    this.#holds = parts.holds
    this.#flow = parts.flow
    this.#handOvers = parts.handOvers
    this.#counts = parts.counts
    this.#onReport = parts.onReport
    this.#onLooked = parts.onLooked
    this.#begin = parts.begin
    this.#lanes = new Lanes({ ...parts, gate: this })
  }

  /** Attempts under way. */
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
    return this.#lanes.isAnyStartable
  }

  /** From now on due timers are started. */
  start(): void {
    this.#isFiring = true
    this.look()
  }

  /** From now on nothing is started; what is under way goes on. */
  halt(): void {
    this.#isFiring = false
    this.#wake?.cancel()
    this.#wake = undefined
    this.#wakeAt = Infinity
  }

  /** From now on nothing is heard either. */
  end(): void {
    this.halt()
    this.#isOver = true
    this.#lanes.end()
  }

  /** Starts what is due now and sets the alarm for what is next. */
  look(): void {
    // A handler that is called in the midst of it need not look again: all lanes are looked at in the end.
    if (!this.#isFiring || this.#isSuspended || this.#isLooking) return
    this.#isLooking = true
    try {
      this.#lookAt(this.#clock.now())
    } finally {
      this.#isLooking = false
    }
    this.#flush()
    this.#onLooked()
    this.#setAlarm()
  }

  #lookAt(now: number): void {
    if (this.#early.length > 0) {
      const early = this.#early
      this.#early = []
      for (const { token, revision } of early) {
        // Cancelled meanwhile, its token may be another's by now.
        const page = this.#window.page(token)
        if (page?.revisions[this.#window.index(token)] === revision) this.#due(token, now)
      }
    }
    this.#window.advance(now, (token) => {
      this.#due(token, now)
      if (++this.#dueSince >= DUE_AT_ONCE) this.#flush()
    })
  }

  /** Nothing becomes due and nothing starts until it is resumed. */
  suspend(): void {
    this.#isSuspended = true
  }

  resume(): void {
    this.#isSuspended = false
    this.look()
  }

  /** New rows may be due sooner than the alarm. */
  setAlarm(): void {
    if (this.#isFiring) this.#setAlarm()
  }

  /** Rows that were held may start, if they still stand. */
  unpark(tokens: readonly number[]): void {
    for (const token of tokens) {
      const attempt = this.#window.page(token)?.attempts[this.#window.index(token)]
      if (attempt !== undefined && this.#window.state(token) === READY) this.#lanes.offer(attempt)
    }
    this.#flush()
  }

  /** The lease was prolonged: what waited for it may start. */
  leased(): void {
    if (this.#withoutLease.size === 0) return
    for (const lane of this.#withoutLease) this.#lanes.mark(lane)
    this.#withoutLease.clear()
    this.#flush()
  }

  /** What kinds are allowed may have changed. */
  refresh(): void {
    this.#lanes.markAll()
    this.look()
  }

  begin(attempt: Attempt): Promise<FiringTransaction> {
    return this.#begin(attempt)
  }

  /** What the history gets of an attempt that is about to be settled by a transaction. */
  notesOf(attempt: Attempt, outcome: Outcome): HistoryEntry[] {
    const handOver = this.#handOvers.ofAttempt(attempt.row)
    return this.#entries(attempt, {
      type: 'ended',
      outcome,
      at: this.#clock.now(),
      isFollowed: true,
      handOver,
    })
  }

  ended(attempt: Attempt, outcome: Outcome): void {
    this.#lanes.leave(attempt)
    if (this.#isOver) return
    if (attempt.isSettled) {
      this.#lanes.goOn(attempt)
      return
    }
    const at = this.#clock.now()
    const handOver = this.#handOvers.ofAttempt(attempt.row)
    this.#note(attempt, { type: 'ended', outcome, at, isFollowed: !attempt.isSuperseded, handOver })
    if (attempt.isSuperseded) {
      this.#counts.superseded++
    } else if (outcome.type === 'done') {
      this.#counts.done++
      // On its way to the store to be carried: the settlement that comes back finds it over.
      if (this.#window.state(attempt.token) === STARTED) {
        this.#window.setState(attempt.token, DONE)
        this.#window.page(attempt.token).attempts[this.#window.index(attempt.token)] = undefined
      }
      this.#onReport()
    } else {
      this.#reports.push({ attempt, outcome })
      if (this.#window.state(attempt.token) === STARTED) this.#window.setState(attempt.token, REPORTED)
      this.#onReport()
    }
    this.#lanes.goOn(attempt)
  }

  /** Takes the reports that wait to be settled, at most `limit`. */
  takeReports(limit: number): Report[] {
    if (this.#reports.length <= limit) {
      const all = this.#reports
      this.#reports = []
      return all
    }
    return this.#reports.splice(0, limit)
  }

  /** A row that may have been attempted by an owner before: it waits until that is written down. */
  suspect(token: number): void {
    const page = this.#window.page(token)
    const index = this.#window.index(token)
    page.states[index] = REPORTED
    const attempt = new Attempt(page.row(index), token, this.#clock.now(), this)
    page.attempts[index] = attempt
    const handOver = this.#handOvers.ofSuspect(attempt.row)
    this.#note(attempt, { type: 'unknown', at: this.#clock.now(), handOver })
    this.#reports.push({ attempt, outcome: { type: 'record' } })
    this.#onReport()
  }

  /** A row that waited to be started does so again, after it was rewritten or not. */
  offer(attempt: Attempt): void {
    this.#lanes.offer(attempt)
    this.#flush()
  }

  /** Takes what is to be written into the history. */
  takeNotes(): readonly HistoryEntry[] {
    const notes = this.#notes
    this.#notes = []
    return notes
  }

  giveBackNotes(notes: readonly HistoryEntry[]): void {
    this.#notes = [...notes, ...this.#notes]
  }

  get noteCount(): number {
    return this.#notes.length
  }

  #note(attempt: Attempt, ending: Ending): void {
    this.#notes.push(...this.#entries(attempt, ending))
  }

  #entries(attempt: Attempt, ending: Ending): HistoryEntry[] {
    const entries: HistoryEntry[] = []
    for (const note of this.#flow.notesOf(attempt, ending)) {
      const { namespace, kind, key, identity } = attempt.row
      entries.push({ namespace, kind, key, identity, ...note })
    }
    return entries
  }

  giveBack(reports: readonly Report[]): void {
    this.#reports = [...reports, ...this.#reports]
  }

  get reportCount(): number {
    return this.#reports.length
  }

  #due(token: number, now: number): void {
    const page = this.#window.page(token)
    const index = this.#window.index(token)
    if (page.states[index] === GONE) return
    const row = page.row(index)
    page.states[index] = READY
    if (row.dueAt > now) {
      this.#early.push({ token, revision: row.revision, dueAt: row.dueAt })
      return
    }
    const attempt = new Attempt(row, token, now, this)
    page.attempts[index] = attempt
    this.#lanes.offer(attempt)
  }

  get isOpen(): boolean {
    return this.#isFiring && !this.#isSuspended
  }

  mayStart(lane: Lane): boolean {
    if (this.#ownership.mayStart) return true
    this.#withoutLease.add(lane)
    return false
  }

  admits(attempt: Attempt, now: number): boolean {
    const { token, row } = attempt
    // Cancelled, replaced or carried to another place while it waited.
    if (attempt.isSuperseded || this.#window.page(token)?.attempts[this.#window.index(token)] !== attempt)
      return false
    if (this.#window.state(token) !== READY) return false
    if (this.#holds.park(row.revision, token)) return false
    if (row.dueAt > now) {
      this.#early.push({ token, revision: row.revision, dueAt: row.dueAt })
      return false
    }
    this.#window.setState(token, STARTED)
    return true
  }

  #flush(): void {
    this.#dueSince = 0
    this.#lanes.flush()
  }

  #setAlarm(): void {
    let next = this.#window.nextDue() ?? Infinity
    for (const { dueAt } of this.#early) next = Math.min(next, dueAt)
    if (next === this.#wakeAt) return
    this.#wake?.cancel()
    this.#wakeAt = next
    this.#wake =
      next === Infinity
        ? undefined
        : this.#clock.wakeAt(next, () => {
            this.#wakeAt = Infinity
            this.look()
          })
  }
}
