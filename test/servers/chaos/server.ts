import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { startPostgres } from '../postgres.js'
import { startOwnRedis } from '../redis.js'

/** The server under the instances, as the one who breaks it sees it. */
export interface ChaosServer {
  readonly port: number
  /** The store's URL by whatever way leads to the server. */
  urlThrough(port: number): string
  /** Ends it as a crash would, and starts it again on what it had on its disk. */
  restart(): Promise<void>
  /** Ends the connections on which instances listen for wake-ups. Answers how many. */
  endListeners(): Promise<number>
  stop(): Promise<void>
}

export const servers: Readonly<Record<string, () => Promise<ChaosServer>>> = { postgres, redis }

async function postgres(): Promise<ChaosServer> {
  const server = await startPostgres()
  if (server.pid === undefined) throw new Error('chaos restarts its server: unset CARILLON_TEST_POSTGRES_URL')
  const port = Number(new URL(server.url).port)
  const schema = `chaos_${randomUUID().slice(0, 8)}`
  return {
    port,
    urlThrough: (through) => `${server.url.replace(`:${port}/`, `:${through}/`)}?schema=${schema}`,
    restart: () => server.restart(),
    async endListeners() {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      try {
        const { rowCount } = await client.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and pid <> pg_backend_pid()",
        )
        return rowCount ?? 0
      } finally {
        await client.end()
      }
    },
    stop: () => server.stop(),
  }
}

async function redis(): Promise<ChaosServer> {
  // The one setting under which a killed server has lost nothing whatever the disk was doing.
  const server = await startOwnRedis(['--appendfsync', 'always'])
  const { process } = server
  const prefix = `chaos-${randomUUID().slice(0, 8)}`
  return {
    port: process.port,
    urlThrough: (through) => `redis://127.0.0.1:${through}?prefix=${prefix}`,
    async restart() {
      await process.end('SIGKILL')
      await process.resume()
    },
    endListeners: () => Promise.resolve(Number(process.cli('client', 'kill', 'type', 'pubsub'))),
    stop: () => server.stop(),
  }
}
