import type { HistoryEntry } from '../store/index.js'
import type { Clock, Wake } from '../time/index.js'
import type { Deliver, Outcome, TimerRow } from '../timer/index.js'
import { Attempt, type AttemptListener } from './attempt.js'
import { AttemptList } from './attempt-list.js'
import type { Ending, Flow } from './flow.js'
import type { HandOvers } from './hand-over.js'
import type { Holds } from './holds.js'
import { Lane } from './lane.js'
import type { Ownership } from './ownership.js'
import type { Quotas } from './quotas.js'
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
 * nothing starts on a lease that is over, or while a move or cancel of it is on its way to the store. Each kind
 * has its own lane, so a slow handler delays only its own kind.
 */
export class Attempts implements AttemptListener {
  readonly #window: Window
  readonly #clock: Clock
  readonly #ownership: Ownership
  readonly #holds: Holds
  readonly #deliver: Deliver
  readonly #flow: Flow
  readonly #quotas: Quotas
  readonly #handOvers: HandOvers
  readonly #counts: EngineCounts
  readonly #onReport: () => void
  readonly #lanes = new Map<string, Map<string, Lane>>()
  readonly #dirty = new Set<Lane>()
  // Lanes that could not start because the lease was over.
  readonly #withoutLease = new Set<Lane>()
  // Attempts under way, in the order they started.
  readonly #started = new AttemptList()
  #reports: Report[] = []
  #notes: HistoryEntry[] = []
  // Rows the wheel gave out before their time by the wall clock, which must have been set back.
  #early: { readonly token: number; readonly revision: number; readonly dueAt: number }[] = []
  #wake: Wake | undefined
  #wakeAt = Infinity
  #isFlushing = false
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
    quotas: Quotas
    handOvers: HandOvers
    counts: EngineCounts
    /** There is something to settle. */
    onReport: () => void
  }) {
    this.#window = parts.window
    this.#clock = parts.clock
    this.#ownership = parts.ownership
    this.#holds = parts.holds
    this.#deliver = parts.deliver
    this.#flow = parts.flow
    this.#quotas = parts.quotas
    this.#handOvers = parts.handOvers
    this.#counts = parts.counts
    this.#onReport = parts.onReport
  }

  /** Attempts under way. */
  get running(): number {
    return this.#started.size
  }

  get isHeard(): boolean {
    return !this.#isOver && this.#ownership.isLeased
  }

  get started(): Iterable<Attempt> {
    return this.#started
  }

  /** Due timers that wait to be started. */
  *ready(): Generator<Attempt, void, undefined> {
    for (const kinds of this.#lanes.values()) for (const lane of kinds.values()) yield* lane
  }

  /** When the timer that has waited longest to be started became due; undefined when none waits. */
  oldestReady(): Attempt | undefined {
    let oldest: Attempt | undefined
    for (const kinds of this.#lanes.values()) {
      for (const lane of kinds.values()) {
        const first = lane.peek()
        if (first !== undefined && (oldest === undefined || first.readyAt < oldest.readyAt)) oldest = first
      }
    }
    return oldest
  }

  /** Whether a due timer waits whose kind has a handler and is not paused. */
  get isAnyStartable(): boolean {
    for (const kinds of this.#lanes.values()) {
      for (const lane of kinds.values()) if (lane.waiting > 0 && lane.quota.isOpen) return true
    }
    return false
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
    for (const kinds of this.#lanes.values()) for (const lane of kinds.values()) lane.quota.leave(lane)
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
      if (attempt !== undefined && this.#window.state(token) === READY) this.#offer(attempt)
    }
    this.#flush()
  }

  /** The lease was prolonged: what waited for it may start. */
  leased(): void {
    if (this.#withoutLease.size === 0) return
    for (const lane of this.#withoutLease) this.#dirty.add(lane)
    this.#withoutLease.clear()
    this.#flush()
  }

  /** What kinds are allowed may have changed. */
  refresh(): void {
    for (const kinds of this.#lanes.values()) for (const lane of kinds.values()) this.#dirty.add(lane)
    this.look()
  }

  ended(attempt: Attempt, outcome: Outcome): void {
    this.#started.remove(attempt)
    const lane = attempt.lane!
    const { quota } = lane
    quota.ended()
    if (this.#isOver) {
      quota.wake()
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
    if (quota.isShared) {
      // A shard with much to do leaves the others their turn.
      if (lane.waiting > 0) quota.wait(lane)
      quota.wake()
    } else if (lane.waiting > 0) this.#dirty.add(lane)
    if (this.#dirty.size > 0) this.#flush()
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
    this.#offer(attempt)
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
    for (const note of this.#flow.notesOf(attempt, ending)) {
      const { namespace, kind, key, identity } = attempt.row
      this.#notes.push({ namespace, kind, key, identity, ...note })
    }
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
    this.#offer(attempt)
  }

  #offer(attempt: Attempt): void {
    const lane = (attempt.lane ??= this.#laneOf(attempt.row))
    lane.push(attempt)
    this.#dirty.add(lane)
  }

  #flush(): void {
    // A handler that reports at once calls back in here: one loop does it all.
    if (this.#isFlushing || this.#isSuspended || !this.#isFiring) return
    this.#isFlushing = true
    this.#dueSince = 0
    try {
      for (const lane of this.#dirty) {
        this.#dirty.delete(lane)
        const batch = this.#take(lane)
        if (batch.length > 0) this.#deliver(batch)
      }
    } finally {
      this.#isFlushing = false
    }
  }

  /** Starts as many of a lane as may run. */
  #take(lane: Lane): Attempt[] {
    const batch: Attempt[] = []
    if (lane.waiting === 0) return batch
    const { quota } = lane
    const available = quota.available()
    if (available <= 0) {
      quota.wait(lane)
      return batch
    }
    if (!this.#ownership.mayStart) {
      this.#withoutLease.add(lane)
      return batch
    }
    const now = this.#clock.now()
    const startedAt = this.#clock.monotonic()
    const most = Math.min(available, this.#flow.allowance.left)
    while (batch.length < most) {
      const attempt = lane.shift()
      if (attempt === undefined) break
      const { token, row } = attempt
      // Cancelled, replaced or carried to another place while it waited.
      if (attempt.isSuperseded || this.#window.page(token)?.attempts[this.#window.index(token)] !== attempt)
        continue
      if (this.#window.state(token) !== READY) continue
      if (this.#holds.park(row.revision, token)) continue
      if (row.dueAt > now) {
        this.#early.push({ token, revision: row.revision, dueAt: row.dueAt })
        continue
      }
      attempt.startedAt = startedAt
      attempt.firedAt = now
      this.#window.setState(token, STARTED)
      this.#started.add(attempt)
      this.#counts.started(now - row.dueAt)
      batch.push(attempt)
    }
    quota.started(batch.length)
    this.#flow.allowance.left -= batch.length
    if (lane.waiting > 0 && batch.length === available) quota.wait(lane)
    return batch
  }

  #laneOf(row: TimerRow): Lane {
    let kinds = this.#lanes.get(row.namespace)
    if (kinds === undefined) this.#lanes.set(row.namespace, (kinds = new Map()))
    let lane = kinds.get(row.kind)
    if (lane === undefined) {
      lane = new Lane(this.#quotas.of(row.namespace, row.kind), (each) => {
        this.#dirty.add(each)
        this.#flush()
      })
      kinds.set(row.kind, lane)
      if (!this.#isOver) lane.quota.join(lane)
    }
    return lane
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
