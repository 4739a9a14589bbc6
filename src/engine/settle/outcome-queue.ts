import type { HistoryEntry, HistoryNote } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { Outcome } from '../../timer/index.js'
import type { EngineCounts } from '../counts.js'
import type { DeliveryPolicy, Ending } from '../delivery-policy.js'
import type { Attempt } from '../fire/attempt.js'
import type { OwnerChanges } from '../own/owner-change.js'
import type { FollowUpPace } from './follow-up-pace.js'
import type { SettleBacklog, ShardBacklog } from './settle-backlog.js'
import type { SettleSignal } from './settle-signal.js'

/** What the next settlement has to write for a row. */
export interface Report {
  readonly attempt: Attempt
  readonly outcome: ReportedOutcome
}

export type ReportedOutcome =
  | Exclude<Outcome, { readonly type: 'done' }>
  /** An earlier owner may have attempted it: that is written down before the next attempt. */
  | { readonly type: 'record' }
  /** The process that ran it is gone, so nobody will report how the attempt ended. */
  | { readonly type: 'unheld' }
  /** It was handed over and never started. */
  | { readonly type: 'unstarted' }

interface OutcomeQueueParts {
  readonly clock: Clock
  readonly counts: EngineCounts
  readonly policy: DeliveryPolicy
  readonly ownerChanges: OwnerChanges
  /** Shared with the other shards of the instance. */
  readonly backlog: SettleBacklog
  readonly signal: SettleSignal
  readonly pace: FollowUpPace
}

/**
 * The outcomes of a shard that no settlement has written yet: reports that need a follow-up or a dead letter, entries
 * for the history, and the number of attempts that are done. It keeps the backlog of the instance up to date, which
 * asks for an early settlement when too much has gathered. It also keeps track of the earliest follow-up, so that a
 * settlement goes out in time for it.
 */
export class OutcomeQueue {
  readonly #parts: OutcomeQueueParts
  readonly #counts: EngineCounts
  readonly #backlog: SettleBacklog
  readonly #shardBacklog: ShardBacklog
  #reports: Report[] = []
  #notes: HistoryEntry[] = []
  #doneAtLast = 0

  constructor(parts: OutcomeQueueParts) {
    const { counts, backlog, signal } = parts
    this.#parts = parts
    this.#counts = counts
    this.#backlog = backlog
    this.#shardBacklog = backlog.join(() => signal.raise())
  }

  get reportCount(): number {
    return this.#reports.length
  }

  addDone(): void {
    this.#counts.done++
    this.#updateBacklog()
  }

  addReport(attempt: Attempt, outcome: ReportedOutcome): void {
    this.#reports.push({ attempt, outcome })
    this.#updateBacklog()
    if (this.#parts.pace.add(followUpDueAt(outcome))) this.#parts.signal.replan()
  }

  /** An attempt has ended: writes it into the history. */
  noteEnded(attempt: Attempt, outcome: Outcome): void {
    const isSuccess = outcome.type === 'done' || outcome.type === 'next'
    if (isSuccess && attempt.attempt === 1 && !this.#parts.policy.notesSuccesses) return
    const at = this.#parts.clock.now()
    const ownerChange = this.#parts.ownerChanges.ofAttempt(attempt.row)
    this.#note(attempt, { type: 'ended', outcome, at, isFollowed: !attempt.isSuperseded, ownerChange })
  }

  /** Nobody knows how an attempt ended: writes that into the history. */
  noteUnknown(attempt: Attempt): void {
    const ownerChange = this.#parts.ownerChanges.ofSuspect(attempt.row)
    this.#note(attempt, { type: 'unknown', at: this.#parts.clock.now(), ownerChange })
  }

  /** A timer becomes a dead letter without a further attempt: writes that into the history. */
  noteGivenUp(attempt: Attempt, reason: string): void {
    this.#note(attempt, { type: 'given-up', reason, at: this.#parts.clock.now(), ownerChange: undefined })
  }

  /** The holder of an attempt has written these notes. */
  addNotes(attempt: Attempt, notes: readonly HistoryNote[]): void {
    for (const entry of entriesOf(attempt, notes)) this.#notes.push(entry)
  }

  /** The history of an attempt that a transaction settles. */
  transactionNotes(attempt: Attempt, outcome: Outcome): HistoryEntry[] {
    return entriesOf(attempt, this.handedNotes(attempt, outcome))
  }

  /** The history of an attempt that was handed over: it goes to the inbox with the outcome. */
  handedNotes(attempt: Attempt, outcome: Outcome): readonly HistoryNote[] {
    const { clock, ownerChanges, policy } = this.#parts
    const ownerChange = ownerChanges.ofAttempt(attempt.row)
    return policy.notesOf(attempt, { type: 'ended', outcome, at: clock.now(), isFollowed: true, ownerChange })
  }

  /** An attempt ended while its hand-over was on its way: the next owner counts it and writes its history. */
  withdraw({ row, outcome }: Attempt): void {
    if (outcome === undefined) return
    const { identity } = row
    this.#notes = this.#notes.filter((note) => note.identity !== identity)
    if (outcome.type === 'done') this.#counts.done--
  }

  /** Takes the reports that wait to be settled, at most `limit`. */
  takeReports(limit: number): Report[] {
    this.#parts.pace.clear()
    if (this.#reports.length <= limit) {
      const all = this.#reports
      this.#reports = []
      return all
    }
    const taken = this.#reports.splice(0, limit)
    this.#planFor(this.#reports)
    return taken
  }

  /** Takes the entries for the history. */
  takeNotes(): readonly HistoryEntry[] {
    const notes = this.#notes
    this.#notes = []
    return notes
  }

  /** A settlement has taken what it will write: counting starts again from here. */
  onTaken(): void {
    this.#doneAtLast = this.#counts.done
    this.#updateBacklog()
  }

  /** The settlement that took these was not written. */
  giveBack(reports: readonly Report[], notes: readonly HistoryEntry[]): void {
    this.#reports = [...reports, ...this.#reports]
    this.#notes = [...notes, ...this.#notes]
    this.#planFor(reports)
  }

  stop(): void {
    this.#backlog.remove(this.#shardBacklog)
  }

  #planFor(reports: readonly Report[]): void {
    for (const { outcome } of reports) this.#parts.pace.add(followUpDueAt(outcome))
  }

  #updateBacklog(): void {
    const done = this.#counts.done - this.#doneAtLast
    this.#backlog.update(this.#shardBacklog, done + Math.max(this.#reports.length, this.#notes.length))
  }

  #note(attempt: Attempt, ending: Ending): void {
    const notes = this.#parts.policy.notesOf(attempt, ending)
    if (notes.length > 0) this.#notes.push(...entriesOf(attempt, notes))
  }
}

/** When the follow-up of a report is due; Infinity if the settlement need not be early for it. */
function followUpDueAt(outcome: ReportedOutcome): number {
  switch (outcome.type) {
    case 'next':
    case 'retry':
      return outcome.dueAt
    case 'dead':
      return outcome.next?.dueAt ?? Infinity
    case 'record':
    case 'unheld':
    case 'unstarted':
      return Infinity
  }
}

function entriesOf(attempt: Attempt, notes: readonly HistoryNote[]): HistoryEntry[] {
  const entries: HistoryEntry[] = []
  for (const note of notes) {
    const { namespace, kind, key, identity } = attempt.row
    entries.push({ namespace, kind, key, identity, ...note })
  }
  return entries
}
