import { CarillonError, StateError, StoreError } from '../error/index.js'
import type { SettleAnswer, Settlement, SettlingTransaction, Store } from '../store/index.js'
import { type FiringTransaction, isBefore, type Outcome, type TimerRow } from '../timer/index.js'
import type { Attempt } from './attempt.js'
import type { Attempts } from './attempts.js'
import type { EngineCounts } from './engine-counts.js'
import { placed, progressAfter } from './follow-up.js'
import type { Loader } from './loader.js'
import { newNonce, Outdated, type Ownership, Unresolved, Untaken } from './ownership.js'
import type { EngineSettings } from './settings.js'
import { ShardTransaction } from './shard-transaction.js'
import type { Turns } from './turns.js'
import { Waits } from './waits.js'
import type { Clock } from '../time/index.js'
import type { Window } from './window.js'
import { entryState } from './window-page.js'

const { STARTED, LEAVING } = entryState

type Settled = Extract<Outcome, { readonly type: 'done' | 'next' }>

export interface TransactionSettlerParts {
  readonly store: Store
  readonly clock: Clock
  readonly settings: EngineSettings
  readonly random: () => number
  readonly ownership: Ownership
  readonly window: Window
  readonly attempts: Attempts
  readonly loader: Loader
  readonly counts: EngineCounts
  readonly turns: Turns
}

/**
 * Settles single attempts by the transactions of their handlers: the row goes, or goes on, at the level as it stands,
 * under the shard's fence, in the last statement before the commit. It takes its turn like any other write of the
 * owner's; until it is answered the row holds the level back.
 */
export class TransactionSettler {
  readonly #parts: TransactionSettlerParts
  readonly #waits: Waits

  constructor(parts: TransactionSettlerParts) {
    this.#parts = parts
    this.#waits = new Waits(parts.clock)
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

  end(): void {
    this.#waits.end()
  }

  /** Answers false when the timer was set anew: nothing was done then. What rejects did not happen either. */
  async #settle(transaction: SettlingTransaction, attempt: Attempt, outcome: Outcome): Promise<boolean> {
    const { turns, window, ownership } = this.#parts
    if (outcome.type !== 'done' && outcome.type !== 'next') return false
    const finish = await turns.take()
    try {
      if (attempt.isSuperseded) return false
      if (ownership.isOver || attempt.outcome !== undefined) {
        throw new StateError('transaction-over', 'the attempt was over before its transaction')
      }
      const settlement = this.#settlementOf(attempt, outcome)
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
    const { ownership, attempts, loader, random } = this.#parts
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
      history: attempts.notesOf(attempt, outcome),
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
          // One that was abandoned meanwhile says nothing about the shard.
          if (!(error instanceof StateError)) throw error
          throw new StoreError('store-unavailable', error.message, { cause: error })
        }
      })
    } catch (error) {
      // The epoch was raised since, so what the shard's row says is final.
      const isCommitted = error instanceof Unresolved && ownership.row.lastSettlement === settlement.id
      if (!isCommitted) throw error
      const followUps = await this.#lookUp(settlement)
      return { followUps, dead: [], readLevel: ownership.row.readLevel }
    }
  }

  /** Where rows stand that were rewritten by a settlement that was not answered. */
  async #lookUp({ followUps }: Settlement): Promise<readonly (TimerRow | undefined)[]> {
    const { ownership, store, settings } = this.#parts
    const before = followUps.map(({ row }) => row)
    if (before.length === 0) return []
    for (;;) {
      try {
        const found = await ownership.call('find', () => store.find(before))
        return found.map((row, index) => (row?.identity === before[index]!.identity ? row : undefined))
      } catch (error) {
        if (!(error instanceof Outdated || error instanceof Untaken || error instanceof Unresolved))
          throw error
        await this.#waits.wait(settings.retryMs)
      }
    }
  }

  #settled(attempt: Attempt, { done }: Settlement, { followUps, readLevel }: SettleAnswer): void {
    const { window, loader, counts, attempts } = this.#parts
    counts.settlements++
    counts.done += done.length
    counts.settled += done.length
    counts.rowDeletes += done.length
    window.leave(attempt.token)
    for (const row of followUps) {
      if (row === undefined) continue
      if (isBefore(row, readLevel)) window.addRow(row)
      else loader.demand(row.position)
    }
    attempts.look()
    loader.plan()
  }
}
