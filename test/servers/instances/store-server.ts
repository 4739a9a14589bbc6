import { randomUUID } from 'node:crypto'
import { startPostgres } from '../postgres.js'
import { RedisClusterServer } from '../redis-cluster.js'

/** What the instances share. */
export interface StoreServer {
  /** The store's URL, for `--store`. */
  readonly url: string
  /** Its processes; those they started are not named. */
  readonly pids: readonly number[]
  stop(): Promise<void>
}

export const storeServers: Readonly<Record<string, () => Promise<StoreServer>>> = {
  /** A PostgreSQL of its own. */
  async postgres() {
    const server = await startPostgres()
    return {
      url: `${server.url}?schema=instances_${randomUUID().slice(0, 8)}`,
      pids: server.pid === undefined ? [] : [server.pid],
      stop: () => server.stop(),
    }
  },

  /** A Redis Cluster of six processes. */
  async cluster() {
    const server = await RedisClusterServer.start()
    return { url: server.url, pids: server.nodes.map(({ pid }) => pid), stop: () => server.stop() }
  },
}
