import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../test/servers/postgres.js'

/** The number of write-ahead log files of 16 MB each: more than a candidate fills. */
const LOG_FILES = 32

/**
 * A durable PostgreSQL in the state of a server that has run for a while, the same for all candidates. A new server has no
 * write-ahead log files to reuse. The first writer would fill each file with zeros before its own rows, and so write twice
 * as many bytes. A server that has passed some checkpoints does not do that.
 */
export async function startRunningPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const server = await startPostgres({
    isDurable: true,
    settings: { shared_buffers: '512MB', min_wal_size: `${LOG_FILES * 16}MB`, ...settings },
  })
  const client = new pg.Client({ connectionString: server.url })
  try {
    await client.connect()
    for (let file = 0; file < LOG_FILES; file++) {
      await client.query("select pg_logical_emit_message(false, 'bench', '')")
      await client.query('select pg_switch_wal()')
    }
    await client.query('checkpoint')
    return server
  } catch (error) {
    await server.stop()
    throw error
  } finally {
    await client.end()
  }
}
