import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from './free-ports.js'
import { RedisProcess } from './redis-process.js'

/** A Redis Cluster for tests: three masters and three replicas, each in its own process. */
export class RedisClusterServer {
  readonly nodes: readonly RedisProcess[]

  private constructor(nodes: readonly RedisProcess[]) {
    this.nodes = nodes
  }

  static async start(): Promise<RedisClusterServer> {
    const ports = await freePorts(12)
    const nodes = await Promise.all(
      ports.slice(0, 6).map((port, index) =>
        RedisProcess.start(port, [
          '--cluster-enabled',
          'yes',
          '--cluster-port',
          String(ports[6 + index]),
          // Short, to save time in tests. A real cluster waits longer before it gives up a master.
          '--cluster-node-timeout',
          '2000',
          '--repl-diskless-sync-delay',
          '0',
        ]),
      ),
    )
    const addresses = nodes.map((node) => `127.0.0.1:${node.port}`)
    nodes[0]!.cli('--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes')
    const cluster = new RedisClusterServer(nodes)
    await cluster.#until('the cluster to be up', () =>
      nodes.every((node) => node.cli('cluster', 'info').includes('cluster_state:ok')),
    )
    return cluster
  }

  /** The store's URL. It has three of the nodes, and the client finds the others through them. */
  get url(): string {
    const seeds = this.nodes.slice(0, 3).map((node) => `127.0.0.1:${node.port}`)
    return `redis://${seeds.join(',')}`
  }

  /**
   * Waits until all replicas are online and all nodes know them, some seconds after the cluster is up. An earlier
   * failover finds no replica, or answers OK and is given up because the master does not know its replica.
   */
  async replicasOnline(): Promise<void> {
    await this.#until('replicas to be online', () => {
      const replicas = this.nodes.filter((node) => node.cli('role').startsWith('slave'))
      return (
        replicas.length === 3 &&
        replicas.every((node) => node.cli('info', 'replication').includes('master_link_status:up')) &&
        this.nodes.every((node) => replicasKnownTo(node) === 3)
      )
    })
  }

  masters(): RedisProcess[] {
    return this.nodes.filter((node) => isMaster(node))
  }

  /**
   * Makes a replica the master of its slots, as an operator would. Redis may refuse because it suspects the old master,
   * or give up after 5 s. Both happen on a busy machine, so this tries again.
   */
  async handOverTo(replica: RedisProcess): Promise<void> {
    let askedAt = -Infinity
    await this.#until(`the replica at ${replica.port} to become a master`, () => {
      if (isMaster(replica)) return true
      if (Date.now() - askedAt > 6000 && replica.cli('cluster', 'failover') === 'OK') askedAt = Date.now()
      return false
    })
  }

  /** Waits until this many nodes are masters and report that all slots are served. */
  async served(masters: number): Promise<void> {
    await this.#until('all slots to be served', () => {
      const alive = this.nodes.filter((node) => isMaster(node))
      return (
        alive.length === masters && alive.every((node) => node.cli('cluster', 'info').includes('state:ok'))
      )
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      try {
        if (isSo()) return
      } catch {
        // A node that does not answer is not ready yet.
      }
      await sleep(100)
    }
    throw new Error(`waited 30 s for ${what}`)
  }
}

function isMaster(node: RedisProcess): boolean {
  try {
    return node.cli('role').startsWith('master')
  } catch {
    return false
  }
}

function replicasKnownTo(node: RedisProcess): number {
  return node
    .cli('cluster', 'nodes')
    .split('\n')
    .filter((line) => / (myself,)?slave /.test(line)).length
}
