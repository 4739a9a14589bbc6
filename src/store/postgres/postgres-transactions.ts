import { InvalidInputError, StateError, StoreError } from '../../error/index.js'
import type {
  ClaimSettlement,
  Fence,
  SettleAnswer,
  Settlement,
  SettlingTransaction,
  StoreTransactions,
} from '../store.js'
import type { PoolClient, PostgresClient } from './net/driver.js'
import { faultOf, isConnectionLost } from './net/fault.js'
import type { SessionPool } from './net/session-pool.js'

/** Settles on a given connection, in its transaction. */
export interface ClientSettler {
  settleClaimed(client: PostgresClient, settlement: ClaimSettlement): Promise<boolean>
  settle(client: PostgresClient, fence: Fence, settlement: Settlement): Promise<SettleAnswer>
}

/**
 * Transactions in which a handler writes, and which settle its firing. They have a pool of their own, so that slow
 * handlers never take connections from the store. If all `capacity` transactions are in use, `begin` waits.
 *
 * Proven by test/store/postgres/handler-transaction.test.ts.
 */
export class PostgresTransactions implements StoreTransactions {
  readonly capacity: number
  readonly #openPool: () => SessionPool
  readonly #settler: ClientSettler
  readonly #open = new Set<PostgresTransaction>()
  readonly #waiting: (() => void)[] = []
  #inUse = 0
  #pool: SessionPool | undefined
  #isStopped = false

  /** Opens the pool at the first `begin`. */
  constructor(openPool: () => SessionPool, capacity: number, settler: ClientSettler) {
    this.#openPool = openPool
    this.capacity = capacity
    this.#settler = settler
  }

  async begin(): Promise<SettlingTransaction> {
    await this.#acquireSlot()
    try {
      if (this.#isStopped) throw new StateError('stopped', 'the PostgreSQL store was stopped before begin')
      const client = await this.#connect()
      const transaction = new PostgresTransaction(client, this.#settler, () => {
        this.#open.delete(transaction)
        this.#releaseSlot()
      })
      this.#open.add(transaction)
      return transaction
    } catch (error) {
      this.#releaseSlot()
      throw error
    }
  }

  /** Rolls back the open transactions, and ends the pool. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const transaction of this.#open) transaction.abandon()
    await this.#pool?.end()
  }

  async #connect(): Promise<PoolClient> {
    let client: PoolClient
    try {
      client = await (this.#pool ??= this.#openPool()).connect()
    } catch (error) {
      throw faultOf(error, 'connecting', 'begin')
    }
    try {
      await client.query({ text: 'begin isolation level read committed' })
      return client
    } catch (error) {
      client.release(true)
      throw faultOf(error, 'reading', 'begin')
    }
  }

  #acquireSlot(): Promise<void> {
    if (this.#inUse < this.capacity) {
      this.#inUse++
      return Promise.resolve()
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #releaseSlot(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#inUse--
    else next()
  }
}

/** One transaction. It ends once: by commit, rollback or abandon. */
class PostgresTransaction implements SettlingTransaction {
  readonly connection: { readonly query: (...query: unknown[]) => Promise<unknown> }
  readonly #client: PoolClient
  readonly #settler: ClientSettler
  readonly #onEnd: () => void
  #isOver = false

  constructor(client: PoolClient, settler: ClientSettler, onEnd: () => void) {
    this.#client = client
    this.#settler = settler
    this.#onEnd = onEnd
    // Not the connection itself: a handler that runs on after the end would write into another transaction.
    this.connection = Object.freeze({
      query: async (...query: unknown[]) => {
        this.#checkOpen('query')
        checkNotPrepared(query[0])
        return await (client as { query(...args: unknown[]): Promise<unknown> }).query(...query)
      },
    })
  }

  async settleClaimed(settlement: ClaimSettlement): Promise<boolean> {
    return await this.#sendBeforeCommit('settleClaimed', () =>
      this.#settler.settleClaimed(this.#client, settlement),
    )
  }

  async settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return await this.#sendBeforeCommit('settle', () => this.#settler.settle(this.#client, fence, settlement))
  }

  async commit(): Promise<void> {
    this.#checkOpen('commit')
    this.#isOver = true
    let lost: Error | undefined
    try {
      await this.#client.query({ text: 'commit' })
    } catch (error) {
      if (await isConnectionLost(error, this.#client)) lost = error as Error
      throw faultOf(error, 'writing', 'commit', lost !== undefined)
    } finally {
      this.#release(lost)
    }
  }

  async rollback(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    let lost: Error | undefined
    try {
      await this.#client.query({ text: 'rollback' })
    } catch (error) {
      // The server rolls back a transaction whose connection is lost.
      lost = error as Error
    } finally {
      this.#release(lost)
    }
  }

  abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#release(new Error('abandoned'))
  }

  /** Before the commit is sent, a failed statement has no effect, even if the connection was lost. */
  async #sendBeforeCommit<Answer>(call: string, send: () => Promise<Answer>): Promise<Answer> {
    this.#checkOpen(call)
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'unknown-outcome')) throw error
      throw new StoreError('store-unavailable', `${call}: the connection was lost before the commit`, {
        cause: error,
      })
    }
  }

  #release(lost: Error | undefined): void {
    this.#client.release(lost)
    this.#onEnd()
  }

  #checkOpen(call: string): void {
    if (!this.#isOver) return
    throw new StateError('transaction-over', `${call} came after the firing's transaction had ended`)
  }
}

// A prepared transaction would wait for its second phase, and its firing would be settled without it.
function checkNotPrepared(query: unknown): void {
  const text = typeof query === 'object' && query !== null && 'text' in query ? query.text : query
  if (typeof text !== 'string' || !/^\s*prepare\s+transaction\b/i.test(text)) return
  throw new InvalidInputError(
    'two-phase-commit',
    'the transaction of a firing cannot be prepared: return from the handler to commit it',
  )
}
