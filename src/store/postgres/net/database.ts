import { StateError } from '../../../error/index.js'
import type { TransactionConnection } from '../../store.js'
import { MAX_COLLISIONS } from '../defaults.js'
import type { PostgresClient, PostgresResult, Row } from './driver.js'
import { faultOf, isCollision, isConnectionLost, type Progress, serverErrorOf } from './fault.js'
import type { SessionPool } from './session-pool.js'

const BYTEA = 17
const INT8 = 20

/**
 * A pool of connections on which every call is one statement. So a call happens completely or not at all, and no lock
 * outlives it. A process that stops between two calls holds no lock. An error says whether the call may have happened.
 *
 * Proven by test/store/postgres/faults.test.ts and test/store/postgres/fault.test.ts.
 */
export class Database {
  readonly #pool: SessionPool
  readonly schema: string
  // Statements with the schema's name filled in, by their source.
  readonly #statements = new Map<string, string>()
  readonly #running = new Set<Promise<unknown>>()
  #stopping: Promise<void> | undefined

  constructor(pool: SessionPool, schema: string) {
    this.#pool = pool
    this.schema = schema
  }

  read(call: string, sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#tracked(call, 'reading', sql, values)
  }

  write(call: string, sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#tracked(call, 'writing', sql, values)
  }

  /** Sends a statement in a transaction of the caller. Until the caller commits it, it has no effect. */
  async writeInTransaction(
    connection: TransactionConnection,
    call: string,
    sql: string,
    values: readonly string[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    this.#checkRunning(call)
    try {
      return (await connection.query(this.#inOwnSchema(sql), values)).rows
    } catch (error) {
      throw faultOf(serverErrorOf(error), 'reading', call)
    }
  }

  /** Sends a statement on a connection that another part of the store holds. */
  async writeWith(
    client: PostgresClient,
    call: string,
    sql: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    this.#checkRunning(call)
    try {
      return (await this.#send(client, sql, values)).rows
    } catch (error) {
      throw faultOf(error, 'writing', call, await isConnectionLost(error, client))
    }
  }

  /** Runs several statements on one connection, which no other call uses meanwhile. */
  async withClient<Answer>(call: string, run: (client: PostgresClient) => Promise<Answer>): Promise<Answer> {
    this.#checkRunning(call)
    const client = await this.#connect(call)
    let lost: Error | undefined
    try {
      return await run(client)
    } catch (error) {
      if (await isConnectionLost(error, client)) lost = error as Error
      throw faultOf(error, 'reading', call, lost !== undefined)
    } finally {
      client.release(lost)
    }
  }

  /** Waits for running calls, then ends the pool. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  async #stop(): Promise<void> {
    await Promise.allSettled(this.#running)
    await this.#pool.end()
  }

  #tracked(
    call: string,
    progress: Progress,
    sql: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    const running = this.#run(call, progress, sql, values)
    this.#running.add(running)
    const forget = (): void => void this.#running.delete(running)
    running.then(forget, forget)
    return running
  }

  async #run(
    call: string,
    progress: Progress,
    sql: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    this.#checkRunning(call)
    for (let collisions = 0; ; collisions++) {
      const client = await this.#connect(call)
      let lost: Error | undefined
      try {
        return (await this.#send(client, sql, values)).rows
      } catch (error) {
        if (await isConnectionLost(error, client)) lost = error as Error
        if (!isCollision(error) || collisions === MAX_COLLISIONS)
          throw faultOf(error, progress, call, lost !== undefined)
      } finally {
        client.release(lost)
      }
    }
  }

  #send(client: PostgresClient, sql: string, values: readonly unknown[]): Promise<PostgresResult> {
    return client.query({ text: this.#inOwnSchema(sql), values, types: columnTypes })
  }

  #inOwnSchema(sql: string): string {
    let text = this.#statements.get(sql)
    if (text === undefined) this.#statements.set(sql, (text = inSchema(this.schema, sql)))
    return text
  }

  async #connect(call: string) {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw faultOf(error, 'connecting', call)
    }
  }

  #checkRunning(call: string): void {
    if (this.#stopping === undefined) return
    throw new StateError('stopped', `the PostgreSQL store was stopped before ${call}`)
  }
}

/**
 * How columns are parsed: bigint to a number, bytea to bytes, everything else to a string. Queries send arrays as bytes
 * by `array_send`. Otherwise the driver would get them as text and would have to parse that.
 */
export const columnTypes = {
  getTypeParser:
    (type: number) =>
    (text: string): string | number | Buffer => {
      if (type === INT8) return Number(text)
      return type === BYTEA ? Buffer.from(text.slice(2), 'hex') : text
    },
}

/** Replaces `S.` in SQL by the name of the schema. */
export function inSchema(schema: string, sql: string): string {
  return sql.replace(/\bS\./g, `"${schema}".`)
}
