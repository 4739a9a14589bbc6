import { randomUUID } from 'node:crypto'
import { FakeClock } from '../fake-clock.js'
import { GERMAN_ADVICE, germanBinaries, startGermanPostgres } from '../german-postgres.js'
import { startPostgres } from '../postgres.js'
import { RedisClusterServer } from '../redis-cluster.js'

/** The store's server, which the instances share. */
export interface StoreServer {
  /** The store's URL, for `--store`. */
  readonly url: string
  /** Its processes, without the children of these. */
  readonly pids: readonly number[]
  /** Its wall clock, if it can be moved. */
  readonly clock?: FakeClock | undefined
  stop(): Promise<void>
}

export interface StoreServerOptions {
  readonly hasClock: boolean
  /** PostgreSQL: whether its messages are in German. */
  readonly isGerman: boolean
}

export const storeServers: Readonly<Record<string, (options: StoreServerOptions) => Promise<StoreServer>>> = {
  /** A PostgreSQL of its own. */
  async postgres({ hasClock, isGerman }) {
    const clock = hasClock ? new FakeClock() : undefined
    const environment = clock?.env ?? {}
    const german = isGerman ? germanBinaries() : undefined
    if (isGerman && german === undefined) throw new Error(`no German PostgreSQL here: ${GERMAN_ADVICE}`)
    const server =
      german === undefined
        ? await startPostgres({ environment })
        : await startGermanPostgres(german, environment)
    return {
      clock,
      url: `${server.url}?schema=instances_${randomUUID().slice(0, 8)}`,
      pids: server.pid === undefined ? [] : [server.pid],
      async stop() {
        await server.stop()
        clock?.remove()
      },
    }
  },

  /** A Redis Cluster of six processes. */
  async cluster() {
    const server = await RedisClusterServer.start()
    return { url: server.url, pids: server.nodes.map(({ pid }) => pid), stop: () => server.stop() }
  },
}
