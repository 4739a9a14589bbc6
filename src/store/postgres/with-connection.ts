import { connectionOptions, loadDriver, type PostgresClient } from './net/driver.js'
import { faultOf } from './net/fault.js'
import { prepareSession } from './net/session-pool.js'
import { parseStoreUrl, postgresStoreOptions } from './postgres-store-options.js'

/** Runs `use` on a connection of its own. With `isLong`, its statements have no timeout. */
export async function withConnection<Answer>(
  url: string,
  call: string,
  use: (client: PostgresClient, schema: string) => Promise<Answer>,
  { isLong = false }: { readonly isLong?: boolean } = {},
): Promise<Answer> {
  const { url: connectionString, ...ofUrl } = parseStoreUrl(url)
  const { schema, connectTimeoutMs, statementTimeoutMs, allow } = postgresStoreOptions({}, ofUrl)
  const driver = await loadDriver()
  const client = new driver.Client(
    connectionOptions(connectionString, {
      connectTimeoutMs,
      statementTimeoutMs: isLong ? 0 : statementTimeoutMs,
    }),
  )
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (error) {
    throw faultOf(error, 'connecting', call)
  }
  try {
    await prepareSession(client, { allow })
    return await use(client, schema)
  } catch (error) {
    throw faultOf(error, 'reading', call)
  } finally {
    await client.end().catch(() => undefined)
  }
}
