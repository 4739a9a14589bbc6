import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../test/servers/postgres.js'

/** Files of the write-ahead log, 16 MB each: more than a candidate fills. */
const LOG_FILES = 32

/**
 * A durable PostgreSQL as one that has run for a while, for all that are compared alike. A new one has no files of its
 * write-ahead log to use again, and whoever writes first fills every one of them with zeros before its own rows: as
 * many bytes once more, which nobody pays on a server that has gone through some checkpoints.
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
