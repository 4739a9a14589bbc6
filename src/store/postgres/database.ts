import { StateError } from '../../error/index.js'
import type { PostgresClient, PostgresPool, PostgresResult, Row } from './driver.js'
import { faultOf, isCollision, isConnectionLost, type Progress } from './fault.js'

const COLLISIONS = 20

const BYTEA = 17
const INT8 = 20

/**
 * A pool of connections on which every call is one statement, sent once: so it happens wholly or not at all, no
 * lock outlives it, and no process that was stopped in the middle can hold one. What fails says whether it may
 * have happened.
 */
export class Database {
  readonly #pool: PostgresPool
  readonly schema: string
  readonly #texts = new Map<string, string>()
  readonly #running = new Set<Promise<unknown>>()
  #stopping: Promise<void> | undefined

  /** A reader that takes nothing for `stuckMs` loses its connection, so that its statement's locks go. */
  constructor(pool: PostgresPool, schema: string, stuckMs: number) {
    this.#pool = pool
    this.schema = schema
    // A connection that fails is the pool's to replace; whoever used it hears of it by the answer to the call.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => {
      client.on('error', () => undefined)
      client.query({ text: sessionSettings(stuckMs) }).catch(() => undefined)
    })
  }

  read(call: string, sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#tracked(call, 'reading', sql, values)
  }

  write(call: string, sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#tracked(call, 'writing', sql, values)
  }

  /** Sends a statement by a connection of the caller's. */
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
      throw faultOf(error, 'writing', call)
    }
  }

  /** Several statements on one connection, which nobody else uses meanwhile. */
  async together<Answer>(call: string, run: (client: PostgresClient) => Promise<Answer>): Promise<Answer> {
    this.#checkRunning(call)
    const client = await this.#connect(call)
    let lost: Error | undefined
    try {
      return await run(client)
    } catch (error) {
      if (isConnectionLost(error)) lost = error as Error
      throw faultOf(error, 'reading', call)
    } finally {
      client.release(lost)
    }
  }

  /** Finishes what was begun. */
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
        if (isConnectionLost(error)) lost = error as Error
        if (!isCollision(error) || collisions === COLLISIONS) throw faultOf(error, progress, call)
      } finally {
        client.release(lost)
      }
    }
  }

  #send(client: PostgresClient, sql: string, values: readonly unknown[]): Promise<PostgresResult> {
    return client.query({ text: this.#text(sql), values, types })
  }

  #text(sql: string): string {
    let text = this.#texts.get(sql)
    if (text === undefined) this.#texts.set(sql, (text = inSchema(this.schema, sql)))
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
 * What every connection is told first. A statement commits when its answer was sent: a process that was stopped
 * while it receives a large one would keep the shard's row locked, against whoever is to take the shard over.
 */
function sessionSettings(stuckMs: number): string {
  return `set session characteristics as transaction isolation level read committed;
    set tcp_user_timeout = ${stuckMs}`
}

/**
 * How columns are read: whole numbers as numbers, bytes as bytes, all else as text. Lists travel as bytes, by
 * `array_send`, because the driver gives columns as text and would have to take a list of texts apart.
 */
export const types = {
  getTypeParser:
    (type: number) =>
    (text: string): string | number | Buffer => {
      if (type === INT8) return Number(text)
      return type === BYTEA ? Buffer.from(text.slice(2), 'hex') : text
    },
}

/** SQL with `S.` put as the schema's name. */
export function inSchema(schema: string, sql: string): string {
  return sql.replace(/\bS\./g, `"${schema}".`)
}
