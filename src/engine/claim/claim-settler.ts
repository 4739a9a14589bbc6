import { StateError, StoreError } from '../../error/index.js'
import type { ClaimSettlement, HistoryEntry, HistoryNote, Store } from '../../store/index.js'
import type { Clock } from '../../time/index.js'
import { type FiringTransaction, lastOutcome, type Outcome } from '../../timer/index.js'
import type { EngineCounts } from '../counts.js'
import type { DeliveryPolicy } from '../delivery-policy.js'
import type { OnEvent } from '../event.js'
import { progressAfter, progressOfNext } from '../settle/follow-up.js'
import type { EngineSettings } from '../settings.js'
import { Sleeper } from '../../async/index.js'
import type { CancelledRows } from './cancelled-rows.js'
import { ClaimTransaction } from './claim-transaction.js'
import type { ClaimedAttempt } from './claimed-attempt.js'
import type { ClaimedRows } from './claimed-rows.js'

const MAX_BATCH = 1000

/** How a row claim ends. */
interface Report {
  readonly attempt: ClaimedAttempt
  readonly outcome: Outcome | { readonly type: 'released' }
  readonly at: number
  readonly notes: readonly HistoryNote[]
}

/**
 * Makes the outcomes of claimed attempts durable, which ends their claims: soon, many in one write, one write at a time.
 * An outcome is sent until the store has answered. If a claim was lost meanwhile, the row belongs to the next instance
 * that claims it. The outcome then goes into the history, and nothing follows from it.
 *
 * Proven by test/engine/claim.test.ts.
 */
export class ClaimSettler {
  readonly #store: Store
  readonly #clock: Clock
  readonly #settings: EngineSettings
  readonly #counts: EngineCounts
  readonly #onEvent: OnEvent
  readonly #onFollowUp: (dueAt: number) => void
  readonly #sleeper: Sleeper
  readonly #rows: ClaimedRows
  readonly #policy: DeliveryPolicy
  readonly #cancelledRows: CancelledRows
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
    rows: ClaimedRows
    policy: DeliveryPolicy
    cancelledRows: CancelledRows
    /** A follow-up was written that is due at `dueAt`. */
    onFollowUp: (dueAt: number) => void
  }) {
    this.#store = parts.store
    this.#clock = parts.clock
    this.#settings = parts.settings
    this.#counts = parts.counts
    this.#onEvent = parts.onEvent
    this.#onFollowUp = parts.onFollowUp
    this.#rows = parts.rows
    this.#policy = parts.policy
    this.#cancelledRows = parts.cancelledRows
    this.#sleeper = new Sleeper(parts.clock)
  }

  /** Whether every outcome is settled. */
  get isIdle(): boolean {
    return !this.#isRunning
  }

  ended(attempt: ClaimedAttempt, outcome: Outcome): void {
    this.#counts.ended(attempt, outcome)
    if (attempt.isSettled) {
      this.#settled(attempt, outcome)
      return
    }
    if (attempt.isSuperseded) this.#lost(attempt, outcome)
    // Only the row shows whether its transaction was committed: it is gone, or is due again when the claim ends.
    else if (attempt.isUnsure) this.#rows.forget(attempt)
    else this.#reports.push(this.#reportOf(attempt, outcome))
    this.#begin()
  }

  /** Begins a transaction that settles an attempt. */
  async begin(attempt: ClaimedAttempt): Promise<FiringTransaction> {
    const { transactions } = this.#store
    if (transactions === undefined) {
      throw new StoreError('no-transactions', `a ${this.#store.name} store has no transactions`)
    }
    const transaction = await transactions.begin()
    return new ClaimTransaction(transaction, attempt, {
      settlementOf: (outcome) => settlementOf(this.#reportOf(attempt, lastOutcome(attempt.row, outcome))),
      isCancelled: async () => (await this.#cancelledRows.renewTokens([attempt])).size > 0,
    })
  }

  /** Gives rows back that were not started, as if they had never been claimed. */
  release(attempts: readonly ClaimedAttempt[]): void {
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
    while (this.#isRunning && this.#clock.monotonic() < untilMonotonic) await this.#sleeper.sleep(2)
  }

  /** Sends nothing more. */
  stop(): void {
    this.#reports = []
    this.#history = []
    this.#sleeper.cancelAll()
  }

  #begin(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run()
  }

  async #run(): Promise<void> {
    // Outcomes of this turn of the event loop, and soon after, share a write.
    await Promise.resolve()
    while (this.#reports.length + this.#history.length > 0) {
      const restMs = this.#lastAt + this.#settings.spacingMs - this.#clock.monotonic()
      if (restMs > 0 && this.#reports.length < MAX_BATCH) await this.#sleeper.sleep(restMs)
      const batch = this.#reports.splice(0, MAX_BATCH)
      const history = this.#history.splice(0, MAX_BATCH)
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
      const refused = batch.filter((_, index) => answers[index] !== true)
      const cancelled = await this.#findCancelled(refused)
      for (const [index, report] of batch.entries()) {
        if (answers[index] === true) this.#settled(report.attempt, report.outcome)
        else if (cancelled.has(report.attempt)) this.#settleAgain(report)
        else this.#refused(report)
      }
    } catch (error) {
      // The store was stopped: it takes no more calls.
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
      await this.#sleeper.sleep(this.#settings.retryMs * Math.min(2 ** this.#failures++, 10))
    }
  }

  /** The attempts among these whose timers were cancelled while they fired. */
  async #findCancelled(refused: readonly Report[]): Promise<ReadonlySet<ClaimedAttempt>> {
    while (refused.length > 0) {
      try {
        return await this.#cancelledRows.renewTokens(refused.map(({ attempt }) => attempt))
      } catch (error) {
        if (error instanceof StateError) break
        const trouble = error instanceof Error ? error : new Error(String(error))
        this.#onEvent({ type: 'store-trouble', shard: undefined, call: 'find', error: trouble })
        await this.#sleeper.sleep(this.#settings.retryMs)
      }
    }
    return new Set()
  }

  /** The timer was cancelled during its attempt, so another outcome than the reported one may follow. */
  #settleAgain({ attempt, outcome }: Report): void {
    attempt.isSettling = false
    const isReleased = outcome.type === 'released'
    if (isReleased) this.release([attempt])
    else this.#reports.push(this.#reportOf(attempt, lastOutcome(attempt.row, outcome)))
  }

  #notesOf(attempt: ClaimedAttempt, outcome: Outcome, isFollowed: boolean): readonly HistoryNote[] {
    const at = this.#clock.now()
    return this.#policy.notesOf(attempt, { type: 'ended', outcome, at, isFollowed, ownerChange: undefined })
  }

  #reportOf(attempt: ClaimedAttempt, outcome: Outcome): Report {
    const notes = this.#notesOf(attempt, outcome, true)
    return { attempt, outcome, at: this.#clock.now(), notes }
  }

  #settled(attempt: ClaimedAttempt, outcome: Report['outcome']): void {
    this.#rows.forget(attempt)
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

  /** The claim is gone: an earlier call without an answer has settled it, or it was lost. */
  #refused({ attempt, outcome }: Report): void {
    this.#rows.forget(attempt)
    if (attempt.isUnsure || outcome.type === 'released') return
    attempt.isSuperseded = true
    this.#lost(attempt, outcome)
  }

  #lost(attempt: ClaimedAttempt, outcome: Outcome): void {
    this.#rows.forget(attempt)
    this.#counts.superseded++
    const { namespace, kind, key, identity } = attempt.row
    for (const note of this.#notesOf(attempt, outcome, false)) {
      this.#history.push({ namespace, kind, key, identity, ...note })
    }
    this.#onEvent({ type: 'lease-lost', namespace, kind, key, attempt: attempt.attempt })
  }
}

function settlementOf({ attempt, outcome, at, notes }: Report): ClaimSettlement {
  const { claimToken: token, row } = attempt
  switch (outcome.type) {
    case 'done':
    case 'released':
      return { token, notes, outcome: outcome.type }
    case 'next':
    case 'retry':
      return { token, notes, outcome: 'follow-up', progress: progressAfter(attempt, outcome) }
    case 'dead': {
      const { reason, next } = outcome
      const death = { token, notes, outcome: 'dead', reason, diedAt: at } as const
      return next === undefined ? death : { ...death, next: progressOfNext(row, next) }
    }
  }
}
