import { InvalidInputError, shown, StoreError } from '../../error/index.js'

/** As much of the package `pg` as is used here, so that nothing of it is needed to compile or to load this. */
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

/** A connection of its own. */
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

/** A connection of the caller's, in the middle of a transaction; not a pool, whose statements go where they like. */
export function clientOf(transaction: unknown): PostgresClient {
  const isClient =
    typeof transaction === 'object' &&
    transaction !== null &&
    'query' in transaction &&
    typeof transaction.query === 'function' &&
    !('totalCount' in transaction)
  if (isClient) return transaction as PostgresClient
  throw new InvalidInputError(
    'invalid-option',
    `a transaction is given by its connection, as pool.connect() or new pg.Client() makes one, got ${shown(transaction)}`,
  )
}

export interface Driver {
  readonly Pool: new (
    options: ConnectionOptions & { readonly max: number; readonly idleTimeoutMillis: number },
  ) => PostgresPool
  readonly Client: new (options: ConnectionOptions) => SingleClient
}

/** The package `pg`, which whoever uses PostgreSQL installs beside Carillon. */
export async function loadDriver(load: () => Promise<unknown> = importDriver): Promise<Driver> {
  try {
    const loaded = (await load()) as { readonly default: Driver }
    return loaded.default
  } catch (error) {
    throw new StoreError(
      'driver-missing',
      'PostgreSQL needs the package pg, which could not be loaded: npm install pg',
      { cause: error },
    )
  }
}

function importDriver(): Promise<unknown> {
  return import('pg')
}
