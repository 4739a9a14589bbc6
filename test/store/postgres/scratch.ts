import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.js'
import type { PostgresStoreOptions } from '../../../src/store/postgres/postgres-store-options.js'
import { type PostgresServer, startPostgres } from '../../servers/postgres.js'

/** Whether the server is somebody else's, and not to be restarted. */
export const isForeign = (process.env['CARILLON_TEST_POSTGRES_URL'] ?? '') !== ''

let server: PostgresServer | undefined
let schemas = 0
const stores: PostgresStore[] = []

/** One server for the tests of a file. */
export function usePostgres(): void {
  beforeAll(async () => {
    server = await startPostgres()
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

/** A schema that nobody has yet, also on a server that other runs use. */
export function newSchema(): string {
  return `test_${process.pid}_${Date.now().toString(36)}_${++schemas}`
}

/** A store in a schema of its own, unless told, that is stopped after the test. */
export async function openStoreIn(options: PostgresStoreOptions = {}, url = thisServer().url) {
  const store = await PostgresStore.open(url, { schema: newSchema(), ...options })
  stores.push(store)
  return store
}

/** Runs SQL as the server's owner. */
export async function sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: thisServer().url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}
