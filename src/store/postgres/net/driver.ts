import { InvalidInputError, shown, StoreError } from '../../../error/index.js'
import type { TransactionConnection } from '../../store.js'
import { CLIENT_TIMEOUT_EXTRA_MS } from '../defaults.js'

/** The part of the package `pg` that this store uses. So this file compiles and loads without the package. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>
}

interface PostgresQuery {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly types?: { getTypeParser(type: number): (text: string) => unknown }
}

export interface PostgresResult {
  readonly rows: readonly Row[]
}

export type Row = Readonly<Record<string, string | number | Buffer | null>>

export interface PoolClient extends PostgresClient {
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** A pool of connections, as `new pg.Pool()` makes one. */
export interface PostgresPool {
  connect(): Promise<PoolClient>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PoolClient) => void): unknown
}

/** A single connection outside a pool, as `new pg.Client()` makes one. */
export interface SingleClient extends PostgresClient {
  connect(): Promise<unknown>
  end(): Promise<void>
  on(event: 'notification', listener: (message: { readonly payload?: string }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}

export interface ConnectionOptions {
  readonly connectionString: string
  readonly application_name: string
  readonly connectionTimeoutMillis: number
  readonly statement_timeout: number
  readonly query_timeout: number
  readonly keepAlive: boolean
}

/** The options of every connection that the store opens. */
export function connectionOptions(
  connectionString: string,
  { connectTimeoutMs, statementTimeoutMs }: { connectTimeoutMs: number; statementTimeoutMs: number },
): ConnectionOptions {
  return {
    connectionString,
    application_name: 'carillon',
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    // The server cancels a statement in time. If even that answer does not arrive, the driver drops the connection.
    query_timeout: statementTimeoutMs === 0 ? 0 : statementTimeoutMs + CLIENT_TIMEOUT_EXTRA_MS,
    keepAlive: true,
  }
}

/** Refuses what is no connection of a transaction. A pool sends each statement on any connection, so it is none. */
export function checkConnection(transaction: unknown): asserts transaction is TransactionConnection {
  const isConnection =
    typeof transaction === 'object' &&
    transaction !== null &&
    'query' in transaction &&
    typeof transaction.query === 'function' &&
    !('totalCount' in transaction)
  if (isConnection) return
  throw new InvalidInputError(
    'invalid-option',
    `using needs a connection from pool.connect(), a new pg.Client(), or what carillon/orm makes of a transaction, got ${shown(transaction)}`,
  )
}

export interface Driver {
  readonly Pool: new (
    options: ConnectionOptions & { readonly max: number; readonly idleTimeoutMillis: number },
  ) => PostgresPool
  readonly Client: new (options: ConnectionOptions) => SingleClient
}

/** Loads the package `pg`. Users of PostgreSQL install it beside Carillon, in a version of their choice. */
export async function loadDriver(load?: () => Promise<unknown>): Promise<Driver> {
  try {
    // Bundlers accept that a package is missing only if its import is inside a try block.
    const loaded: unknown = load === undefined ? await import('pg') : await load()
    return (loaded as { readonly default: Driver }).default
  } catch (error) {
    throw new StoreError(
      'driver-missing',
      'cannot load the package pg, which PostgreSQL needs: npm install pg',
      { cause: error },
    )
  }
}
