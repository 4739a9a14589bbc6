import { StateError, StoreError } from '../../error/index.js'
import type {
  ClaimSettlement,
  Fence,
  SettleAnswer,
  Settlement,
  SettlingTransaction,
  StoreTransactions,
} from '../store.js'
import type { PoolClient, PostgresClient, PostgresPool } from './driver.js'
import { faultOf, isConnectionLost } from './fault.js'

/** Settles by a connection of the caller's. */
export interface SettlesWith {
  settleClaimed(client: PostgresClient, settlement: ClaimSettlement): Promise<boolean>
  settle(client: PostgresClient, fence: Fence, settlement: Settlement): Promise<SettleAnswer>
}

/**
 * Transactions that handlers write in and that settle their firings. They have connections of their own, so that
 * handlers that take their time never keep the store itself from its work; whoever comes when all are in use waits.
 */
export class PostgresTransactions implements StoreTransactions {
  readonly capacity: number
  readonly #openPool: () => PostgresPool
  readonly #settles: SettlesWith
  readonly #open = new Set<PostgresTransaction>()
  readonly #waiting: (() => void)[] = []
  #inUse = 0
  #pool: PostgresPool | undefined
  #isStopped = false

  /** The pool is opened when it is first needed. */
  constructor(openPool: () => PostgresPool, capacity: number, settles: SettlesWith) {
    this.#openPool = openPool
    this.capacity = capacity
    this.#settles = settles
  }

  async begin(): Promise<SettlingTransaction> {
    await this.#take()
    try {
      if (this.#isStopped) throw new StateError('stopped', 'the PostgreSQL store was stopped before begin')
      const client = await this.#connect()
      const transaction = new PostgresTransaction(client, this.#settles, () => {
        this.#open.delete(transaction)
        this.#giveBack()
      })
      this.#open.add(transaction)
      return transaction
    } catch (error) {
      this.#giveBack()
      throw error
    }
  }

  /** Undoes what is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const transaction of this.#open) transaction.abandon()
    await this.#pool?.end()
  }

  async #connect(): Promise<PoolClient> {
    let client: PoolClient
    try {
      client = await this.#ready().connect()
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

  #ready(): PostgresPool {
    if (this.#pool !== undefined) return this.#pool
    const pool = this.#openPool()
    // A connection that fails is the pool's to replace; whoever used it hears of it by the answer to the call.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => client.on('error', () => undefined))
    return (this.#pool = pool)
  }

  #take(): Promise<void> {
    if (this.#inUse < this.capacity) {
      this.#inUse++
      return Promise.resolve()
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #giveBack(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#inUse--
    else next()
  }
}

/** One of them, from `begin` to its end, which comes once. */
class PostgresTransaction implements SettlingTransaction {
  readonly connection: { readonly query: (...query: unknown[]) => Promise<unknown> }
  readonly #client: PoolClient
  readonly #settles: SettlesWith
  readonly #onEnd: () => void
  #isOver = false

  constructor(client: PoolClient, settles: SettlesWith, onEnd: () => void) {
    this.#client = client
    this.#settles = settles
    this.#onEnd = onEnd
    // Not the connection itself: a handler that goes on after the end would write into somebody else's transaction.
    this.connection = Object.freeze({
      query: async (...query: unknown[]) => {
        this.#checkOpen('query')
        return await (client as { query(...words: unknown[]): Promise<unknown> }).query(...query)
      },
    })
  }

  async settleClaimed(settlement: ClaimSettlement): Promise<boolean> {
    return await this.#sent('settleClaimed', () => this.#settles.settleClaimed(this.#client, settlement))
  }

  async settle(fence: Fence, settlement: Settlement): Promise<SettleAnswer> {
    return await this.#sent('settle', () => this.#settles.settle(this.#client, fence, settlement))
  }

  async commit(): Promise<void> {
    this.#checkOpen('commit')
    this.#isOver = true
    let lost: Error | undefined
    try {
      await this.#client.query({ text: 'commit' })
    } catch (error) {
      if (isConnectionLost(error)) lost = error as Error
      throw faultOf(error, 'writing', 'commit')
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
      // Without its connection the server undoes it by itself.
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

  /** What fails before the commit was sent did not happen, also when the connection was lost. */
  async #sent<Answer>(call: string, send: () => Promise<Answer>): Promise<Answer> {
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
    throw new StateError('transaction-over', `${call} came after the end of the firing's transaction`)
  }
}
