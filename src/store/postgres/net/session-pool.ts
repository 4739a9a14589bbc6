import { InvalidInputError } from '../../../error/index.js'
import { IDLE_CONNECTION_MS } from '../defaults.js'
import type { ConnectionOptions, Driver, PoolClient, PostgresClient, PostgresPool } from './driver.js'
import { allowedSql, type PostgresAllowance } from './durability.js'

/** The settings that a session gets before its first statement. */
export interface SessionSettings {
  readonly allow: readonly PostgresAllowance[]
  /**
   * The server drops a connection whose process has not read for this long, which releases its locks. A statement
   * commits only after its answer was sent. So a process that stops in the middle of a large answer would keep the
   * shard row locked, and nobody could take the shard over. Undefined keeps the server's setting.
   */
  readonly tcpUserTimeoutMs?: number
}

/**
 * A pool that gives out a connection only after its session got our settings.
 *
 * Proven by test/store/postgres/durability.test.ts.
 */
export class SessionPool {
  readonly #pool: PostgresPool
  readonly #prepared = new WeakMap<PoolClient, Promise<unknown>>()

  constructor(pool: PostgresPool, settings: SessionSettings) {
    this.#pool = pool
    // The pool replaces a failed connection. The call that used it fails and reports the error.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => {
      client.on('error', () => undefined)
      const prepared = prepareSession(client, settings)
      prepared.catch(() => undefined)
      this.#prepared.set(client, prepared)
    })
  }

  async connect(): Promise<PoolClient> {
    const client = await this.#pool.connect()
    try {
      await this.#prepared.get(client)
      return client
    } catch (error) {
      // Without the settings, a session might commit without waiting for the disk.
      client.release(true)
      throw error
    }
  }

  end(): Promise<void> {
    return this.#pool.end()
  }
}

/** Opens a pool. The driver connects later, but it refuses a malformed URL here. */
export function openSessionPool(
  driver: Driver,
  connection: ConnectionOptions,
  max: number,
  settings: SessionSettings,
): SessionPool {
  try {
    const pool = new driver.Pool({ ...connection, max, idleTimeoutMillis: IDLE_CONNECTION_MS })
    return new SessionPool(pool, settings)
  } catch (error) {
    throw new InvalidInputError(
      'invalid-store-url',
      `the PostgreSQL driver refused the URL: ${String(error)}`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Makes commits wait for the disk, whatever `synchronous_commit` the role, the database or the server sets. A stronger
 * setting stays. The session always gets its own value, so that a later change of the server's configuration does not
 * weaken open sessions.
 */
export async function prepareSession(
  client: PostgresClient,
  { allow, tcpUserTimeoutMs }: SessionSettings,
): Promise<void> {
  await client.query({
    text: `set session characteristics as transaction isolation level read committed;
      ${tcpUserTimeoutMs === undefined ? '' : `set tcp_user_timeout = ${tcpUserTimeoutMs};`}
      select set_config('synchronous_commit',
        case when s.setting = 'off' and not ${allowedSql('async-commit', allow)} then 'on' else s.setting end, false)
      from (select current_setting('synchronous_commit') as setting) s`,
  })
}
