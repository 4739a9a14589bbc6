import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { FakeClock } from '../fake-clock.js'
import { GERMAN_ADVICE, germanBinaries, startGermanPostgres } from '../german-postgres.js'
import { startPostgres } from '../postgres.js'
import { startOwnRedis } from '../redis.js'

/** The server that the instances use, with the operations that break it. */
export interface ChaosServer {
  readonly port: number
  /** Its wall clock, if it can be moved. */
  readonly clock: FakeClock | undefined
  /** The store's URL for a connection through this port. */
  urlThrough(port: number): string
  /** Ends it as in a crash, and starts it again with what it had on disk. */
  restart(): Promise<void>
  /** Ends the connections on which instances listen for wake-ups. Resolves with their number. */
  endListeners(): Promise<number>
  stop(): Promise<void>
}

export interface ChaosServerOptions {
  /** Whether its wall clock must be movable. */
  readonly hasClock?: boolean
  /** PostgreSQL: whether its messages are in German. */
  readonly isGerman?: boolean
}

export const servers: Readonly<Record<string, (options?: ChaosServerOptions) => Promise<ChaosServer>>> = {
  postgres,
  redis,
}

async function postgres({ hasClock, isGerman }: ChaosServerOptions = {}): Promise<ChaosServer> {
  const clock = hasClock === true ? new FakeClock() : undefined
  const environment = clock?.env ?? {}
  const german = isGerman === true ? germanBinaries() : undefined
  if (isGerman === true && german === undefined)
    throw new Error(`no German PostgreSQL here: ${GERMAN_ADVICE}`)
  const server =
    german === undefined
      ? await startPostgres({ environment })
      : await startGermanPostgres(german, environment)
  if (server.pid === undefined) throw new Error('chaos restarts its server: unset CARILLON_TEST_POSTGRES_URL')
  const port = Number(new URL(server.url).port)
  const schema = `chaos_${randomUUID().slice(0, 8)}`
  return {
    port,
    clock,
    urlThrough: (through) => `${server.url.replace(`:${port}/`, `:${through}/`)}?schema=${schema}`,
    restart: () => server.restart(),
    async endListeners() {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      try {
        const { rowCount } = await client.query(
          // An instance that got no wake-up for a while checks this connection.
          `select pg_terminate_backend(pid) from pg_stat_activity
            where (query ilike 'listen%' or query = 'select 1') and pid <> pg_backend_pid()`,
        )
        return rowCount ?? 0
      } finally {
        await client.end()
      }
    },
    async stop() {
      await server.stop()
      clock?.remove()
    },
  }
}

/** Its clock cannot be moved: Debian's Redis does not start with libfaketime, whose calls meet those of jemalloc. */
async function redis(): Promise<ChaosServer> {
  // Only with this setting has a killed server lost nothing, no matter what the disk was doing.
  const server = await startOwnRedis(['--appendfsync', 'always'])
  const { process } = server
  const prefix = `chaos-${randomUUID().slice(0, 8)}`
  return {
    port: process.port,
    clock: undefined,
    urlThrough: (through) => `redis://127.0.0.1:${through}?prefix=${prefix}`,
    async restart() {
      await process.end('SIGKILL')
      await process.resume()
    },
    endListeners: () => Promise.resolve(Number(process.cli('client', 'kill', 'type', 'pubsub'))),
    stop: () => server.stop(),
  }
}
