import { CarillonError, StateError, StoreError } from '../../error/index.js'
import type { SettleAnswer, Settlement, SettlingTransaction, Store } from '../../store/index.js'
import { type FiringTransaction, lastOutcome, type Outcome, type TimerRow } from '../../timer/index.js'
import type { Attempt } from '../fire/attempt.js'
import type { Attempts } from '../fire/attempts.js'
import type { EngineCounts } from '../counts.js'
import { placed, progressAfter } from './follow-up.js'
import type { Loader } from '../load/loader.js'
import { UnknownOutcomeError } from '../own/call-errors.js'
import { newNonce, type Ownership } from '../own/ownership.js'
import type { OutcomeQueue } from './outcome-queue.js'
import type { SweepPlanner } from './sweep-planner.js'
import { ShardTransaction } from './shard-transaction.js'
import { type Mutex, Sleeper } from '../../async/index.js'
import type { Clock } from '../../time/index.js'
import type { Window } from '../load/window.js'
import { entryState } from '../load/window-page.js'

const { STARTED, LEAVING } = entryState

type Settled = Extract<Outcome, { readonly type: 'done' | 'next' }>

export interface TransactionSettlerParts {
  readonly store: Store
  readonly clock: Clock
  readonly random: () => number
  readonly ownership: Ownership
  readonly window: Window
  readonly attempts: Attempts
  readonly outcomes: OutcomeQueue
  readonly loader: Loader
  readonly counts: EngineCounts
  readonly mutex: Mutex
  readonly sweepPlanner: SweepPlanner
}

/**
 * Settles single attempts in the transactions of their handlers. The last statement before the commit removes or rewrites
 * the row, under the shard's fence and at the current settled level. It takes its turn among the owner's calls. Until it
 * is answered, the row holds the level back (rule 7).
 */
export class TransactionSettler {
  readonly #parts: TransactionSettlerParts
  readonly #sleeper: Sleeper

  constructor(parts: TransactionSettlerParts) {
    this.#parts = parts
    this.#sleeper = new Sleeper(parts.clock)
  }

  async begin(attempt: Attempt): Promise<FiringTransaction> {
    const { transactions, name } = this.#parts.store
    if (transactions === undefined) {
      throw new StoreError('no-transactions', `a ${name} store has no transactions`)
    }
    const transaction = await transactions.begin()
    return new ShardTransaction(transaction, attempt, (outcome) =>
      this.#settle(transaction, attempt, outcome),
    )
  }

  stop(): void {
    this.#sleeper.cancelAll()
  }

  /** Answers false if the timer was replaced: then nothing was done. If it rejects, nothing was done either. */
  async #settle(transaction: SettlingTransaction, attempt: Attempt, outcome: Outcome): Promise<boolean> {
    const { mutex, window, ownership } = this.#parts
    const finish = await mutex.lock()
    try {
      if (attempt.isSuperseded) return false
      if (ownership.isOver || attempt.handed !== undefined || attempt.outcome !== undefined) {
        throw new StateError('transaction-over', 'the attempt was over before its transaction')
      }
      // The timer may have been cancelled since the handler returned.
      const last = lastOutcome(attempt.row, outcome)
      if (last.type !== 'done' && last.type !== 'next') return false
      const settlement = this.#settlementOf(attempt, last)
      window.setState(attempt.token, LEAVING)
      try {
        this.#settled(attempt, settlement, await this.#committed(transaction, settlement))
        return true
      } catch (error) {
        if (!ownership.isOver) window.stay(attempt.token, STARTED)
        if (error instanceof CarillonError) throw error
        throw new StoreError('store-unavailable', 'the transaction was not committed', { cause: error })
      }
    } finally {
      finish()
    }
  }

  #settlementOf(attempt: Attempt, outcome: Settled): Settlement {
    const { ownership, outcomes, loader, random } = this.#parts
    const { row } = attempt
    const level = ownership.settledLevel
    const isDone = outcome.type === 'done'
    return {
      id: newNonce(random),
      level,
      settledCount: 0,
      done: isDone ? [row] : [],
      followUps: isDone
        ? []
        : [{ row, ...placed(progressAfter(attempt, outcome), level.position, loader.soonest) }],
      dead: [],
      history: outcomes.transactionNotes(attempt, outcome),
    }
  }

  async #committed(transaction: SettlingTransaction, settlement: Settlement): Promise<SettleAnswer> {
    const { ownership } = this.#parts
    try {
      return await ownership.call('settle', async (fence) => {
        try {
          const answer = await transaction.settle(fence, settlement)
          await transaction.commit()
          return answer
        } catch (error) {
          // A transaction that was abandoned meanwhile says nothing about the shard.
          if (!(error instanceof StateError)) throw error
          throw new StoreError('store-unavailable', error.message, { cause: error })
        }
      })
    } catch (error) {
      // The epoch was raised since, so the shard row is final.
      const isCommitted =
        error instanceof UnknownOutcomeError && ownership.row.lastSettlement === settlement.id
      if (!isCommitted) throw error
      const followUps = await this.#lookUp(settlement)
      return { followUps, dead: [], readLevel: ownership.row.readLevel }
    }
  }

  /** The rows that a settlement has rewritten whose answer was lost. */
  async #lookUp({ followUps }: Settlement): Promise<readonly (TimerRow | undefined)[]> {
    const { ownership, store } = this.#parts
    const before = followUps.map(({ row }) => row)
    if (before.length === 0) return []
    const found = await ownership.retrying('find', () => store.find(before), this.#sleeper)
    return found.map((row, index) => (row?.identity === before[index]!.identity ? row : undefined))
  }

  #settled(attempt: Attempt, { done }: Settlement, { followUps, readLevel }: SettleAnswer): void {
    const { window, loader, counts, attempts, sweepPlanner, ownership } = this.#parts
    const { bytes } = window
    counts.settlements++
    counts.done += done.length
    counts.settled += done.length
    counts.rowDeletes += done.length
    window.remove(attempt.token)
    sweepPlanner.settled(ownership.settledLevel, done.length, bytes - window.bytes)
    for (const row of followUps) if (row !== undefined) loader.keep(row, readLevel)
    attempts.startDue()
    loader.loadIfDue()
  }
}
