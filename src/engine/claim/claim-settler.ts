import { StateError, StoreError } from '../../error/index.js'
import type { ClaimSettlement, HistoryEntry, HistoryNote, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import type { FiringTransaction, Outcome } from '../../timer/index.js'
import type { EngineCounts } from '../engine-counts.js'
import type { OnEvent } from '../event.js'
import { progressAfter, progressOfNext } from '../follow-up.js'
import type { EngineSettings } from '../settings.js'
import { Waits } from '../waits.js'
import { LeaseTransaction } from './lease-transaction.js'
import type { LeasedAttempt } from './leased-attempt.js'
import type { LeasedAttempts } from './leased-attempts.js'

const MOST_AT_ONCE = 1000

/** What is to become of a lease. */
interface Report {
  readonly attempt: LeasedAttempt
  readonly outcome: Outcome | { readonly type: 'released' }
  readonly at: number
  readonly notes: readonly HistoryNote[]
}

/**
 * Ends leases with their outcomes: soon, many in one write, one write at a time. An outcome is sent until the store
 * has answered for it; a row whose lease was lost meanwhile is its next holder's, and what came of the attempt is
 * written down and not followed.
 */
export class ClaimSettler {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #counts: EngineCounts
  readonly #onEvent: OnEvent
  readonly #onFollowUp: (dueAt: number) => void
  readonly #waits: Waits
  #attempts!: LeasedAttempts
  #reports: Report[] = []
  #history: HistoryEntry[] = []
  #isRunning = false
  #lastAt = -Infinity
  #failures = 0

  constructor(parts: {
    store: Store
    clock: Clock
    settings: EngineSettings
    counts: EngineCounts
    onEvent: OnEvent
    /** A row goes on, and will be due then. */
    onFollowUp: (dueAt: number) => void
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#counts = parts.counts
    this.#onEvent = parts.onEvent
    this.#onFollowUp = parts.onFollowUp
    this.#waits = new Waits(parts.clock)
  }

  connect(attempts: LeasedAttempts): void {
    this.#attempts = attempts
  }

  /** Whether every outcome is settled. */
  get isIdle(): boolean {
    return !this.#isRunning
  }

  ended(attempt: LeasedAttempt, outcome: Outcome): void {
    if (attempt.isSettled) {
      this.#settled(attempt, outcome)
      return
    }
    if (attempt.isSuperseded) this.#lost(attempt, outcome)
    // Only the row knows whether its transaction was committed: it is gone, or comes back when the lease ends.
    else if (attempt.isUnsure) this.#attempts.forget(attempt)
    else this.#reports.push(this.#reportOf(attempt, outcome))
    this.#begin()
  }

  /** Begins a transaction of the store's that settles an attempt. */
  async begin(attempt: LeasedAttempt): Promise<FiringTransaction> {
    const { transactions } = this.#store
    if (transactions === undefined) {
      throw new StoreError('no-transactions', `a ${this.#store.name} store has no transactions`)
    }
    const transaction = await transactions.begin()
    return new LeaseTransaction(transaction, attempt, (outcome) =>
      settlementOf(this.#reportOf(attempt, outcome)),
    )
  }

  /** Rows that were not started: it is to be as if they had never been claimed. */
  release(attempts: readonly LeasedAttempt[]): void {
    const at = this.#clock.now()
    for (const attempt of attempts) {
      this.#reports.push({ attempt, outcome: { type: 'released' }, at, notes: [] })
    }
    this.#begin()
  }

  noted(entries: readonly HistoryEntry[]): void {
    this.#history.push(...entries)
    this.#begin()
  }

  /** Resolves when everything is settled, or the time is over. */
  async settleAll(untilMonotonic: number): Promise<void> {
    while (this.#isRunning && this.#clock.monotonic() < untilMonotonic) await this.#waits.wait(2)
  }

  /** Sends nothing more. */
  end(): void {
    this.#reports = []
    this.#history = []
    this.#waits.end()
  }

  #begin(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run()
  }

  async #run(): Promise<void> {
    // What ends in this turn, and soon after the last, goes together.
    await Promise.resolve()
    while (this.#reports.length + this.#history.length > 0) {
      const restMs = this.#lastAt + this.#settings.spacingMs - this.#clock.monotonic()
      if (restMs > 0 && this.#reports.length < MOST_AT_ONCE) await this.#waits.wait(restMs)
      const batch = this.#reports.splice(0, MOST_AT_ONCE)
      const history = this.#history.splice(0, MOST_AT_ONCE)
      if (batch.length + history.length > 0) await this.#settle(batch, history)
      this.#lastAt = this.#clock.monotonic()
    }
    this.#isRunning = false
  }

  async #settle(batch: readonly Report[], history: readonly HistoryEntry[]): Promise<void> {
    for (const { attempt } of batch) attempt.isSettling = true
    try {
      const answers = await this.#store.settleClaimed(batch.map(settlementOf), history)
      this.#counts.settlements++
      this.#failures = 0
      for (const [index, report] of batch.entries()) {
        if (answers[index] === true) this.#settled(report.attempt, report.outcome)
        else this.#refused(report)
      }
    } catch (error) {
      // The store was stopped under us: nothing more can be said to it.
      if (error instanceof StateError) return
      const isUnsure = error instanceof StoreError && error.code === 'unknown-outcome'
      for (const { attempt } of batch) {
        attempt.isSettling = false
        attempt.isUnsure ||= isUnsure
      }
      this.#reports = [...batch, ...this.#reports]
      this.#history = [...history, ...this.#history]
      const trouble = error instanceof Error ? error : new Error(String(error))
      this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'settleClaimed', error: trouble })
      await this.#waits.wait(this.#settings.retryMs * Math.min(2 ** this.#failures++, 10))
    }
  }

  #reportOf(attempt: LeasedAttempt, outcome: Outcome): Report {
    const notes = this.#attempts.notesOf(attempt, outcome, true)
    return { attempt, outcome, at: this.#clock.now(), notes }
  }

  #settled(attempt: LeasedAttempt, outcome: Report['outcome']): void {
    this.#attempts.forget(attempt)
    switch (outcome.type) {
      case 'done':
        this.#counts.done++
        this.#counts.settled++
        return
      case 'retry':
        this.#counts.retried++
        this.#onFollowUp(outcome.dueAt)
        return
      case 'next':
        this.#onFollowUp(outcome.dueAt)
        return
      case 'dead':
        this.#counts.dead++
        if (outcome.next === undefined) this.#counts.settled++
        else this.#onFollowUp(outcome.next.dueAt)
        return
      case 'released':
        return
    }
  }

  /** The lease is gone: it was settled by a call before that was not answered, or it was lost. */
  #refused({ attempt, outcome }: Report): void {
    this.#attempts.forget(attempt)
    if (attempt.isUnsure || outcome.type === 'released') return
    attempt.isSuperseded = true
    this.#lost(attempt, outcome)
  }

  #lost(attempt: LeasedAttempt, outcome: Outcome): void {
    this.#attempts.forget(attempt)
    this.#counts.superseded++
    const { namespace, kind, key, identity } = attempt.row
    for (const note of this.#attempts.notesOf(attempt, outcome, false)) {
      this.#history.push({ namespace, kind, key, identity, ...note })
    }
    this.#onEvent({ type: 'lease-lost', namespace, kind, key, attempt: attempt.attempt })
  }
}

function settlementOf({ attempt, outcome, at, notes }: Report): ClaimSettlement {
  const { receipt, row } = attempt
  switch (outcome.type) {
    case 'done':
    case 'released':
      return { receipt, notes, outcome: outcome.type }
    case 'next':
    case 'retry':
      return { receipt, notes, outcome: 'follow-up', progress: progressAfter(attempt, outcome) }
    case 'dead': {
      const { reason, next } = outcome
      const death = { receipt, notes, outcome: 'dead', reason, diedAt: at } as const
      return next === undefined ? death : { ...death, next: progressOfNext(row, next) }
    }
  }
}
