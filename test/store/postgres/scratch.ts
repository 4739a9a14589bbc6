import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import type { PostgresStoreOptions } from '../../../src/store/postgres/postgres-store-options.js'
import { type PostgresServer, type PostgresServerOptions, startPostgres } from '../../servers/postgres.js'

/** Whether the tests use a given server, which they must not restart. */
export const isForeign = (process.env['CARILLON_TEST_POSTGRES_URL'] ?? '') !== ''

let server: PostgresServer | undefined
let schemas = 0
const stores: PostgresStore[] = []

/** Starts one server for all tests of a file. */
export function usePostgres(options: PostgresServerOptions = {}): void {
  beforeAll(async () => {
    server = await startPostgres(options)
  })
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.stop()
  })
  afterAll(async () => {
    await server?.stop()
  })
}

export function thisServer(): PostgresServer {
  if (server === undefined) throw new Error('usePostgres() was not called in this file')
  return server
}

/** The name of a new schema, unique even on a server that other runs use. */
export function newSchema(): string {
  return `test_${process.pid}_${Date.now().toString(36)}_${++schemas}`
}

/** Opens a store, by default in a new schema. It is stopped after the test. */
export async function openStoreIn(options: PostgresStoreOptions = {}, url: string = thisServer().url) {
  const store = await PostgresStore.open(url, { schema: newSchema(), ...options })
  stores.push(store)
  return store
}

/** Runs SQL as the superuser. */
export async function sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: thisServer().url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}
