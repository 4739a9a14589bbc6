import { CarillonError, InvalidInputError, StoreError } from '../../../error/index.js'
import { MAX_REDIRECTIONS } from '../defaults.js'
import { RedisConnection, type Reply, type Argument } from './connection.js'
import type { RedisDriver } from './driver.js'
import { connectErrorOf, isUnsent, replyCodeOf, storeErrorOf } from './redis-error.js'
import { type RedisAddress, type RedisTarget, shownAddress } from './redis-url.js'
import { slotOf } from './slot.js'

/** How a command is to be sent. */
export interface CommandTraits {
  readonly isWrite?: boolean
  /** Its reply is so large that only few should be in flight at once. */
  readonly isLarge?: boolean
}

const plainRead: CommandTraits = Object.freeze({})

/** A server's state and settings. */
export interface ServerReport {
  /** The reply to `INFO`. */
  readonly info: string
  /** The settings `appendfsync` and `no-appendfsync-on-rewrite`. Undefined when the server refuses `CONFIG GET`. */
  readonly flushing: ReadonlyMap<string, string> | undefined
}

interface SlotRange {
  readonly first: number
  readonly last: number
  readonly address: RedisAddress
}

/**
 * The servers of a store: one server, or the masters of a cluster. A call goes to the master of its key's slot. It
 * follows a cluster's redirections, and is otherwise sent once. Its error says whether nothing happened or whether the
 * outcome is unknown.
 *
 * Proven by test/store/redis/contract-cluster.test.ts and test/store/redis/failover.test.ts.
 */
export class RedisNodes {
  readonly driver: RedisDriver
  readonly target: RedisTarget
  readonly isCluster: boolean
  readonly #connections = new Map<string, Promise<RedisConnection>>()
  readonly #open = new Map<string, RedisConnection>()
  #ranges: readonly SlotRange[] = []
  #refreshing: Promise<void> | undefined
  #isClosed = false

  private constructor(driver: RedisDriver, target: RedisTarget, isCluster: boolean, first: RedisConnection) {
    this.driver = driver
    this.target = target
    this.isCluster = isCluster
    this.#addConnection(first)
  }

  /** Connects to the first seed that responds. */
  static async open(driver: RedisDriver, target: RedisTarget): Promise<RedisNodes> {
    let failure: StoreError | undefined
    for (const seed of target.seeds) {
      let connection: RedisConnection | undefined
      try {
        connection = await RedisConnection.open(driver, seed, target)
        return await RedisNodes.#openFrom(driver, target, connection)
      } catch (error) {
        connection?.close()
        if (error instanceof CarillonError && !(error instanceof StoreError)) throw error
        failure ??= error instanceof StoreError ? error : connectErrorOf(error, shownAddress(seed))
      }
    }
    throw failure!
  }

  static async #openFrom(
    driver: RedisDriver,
    target: RedisTarget,
    first: RedisConnection,
  ): Promise<RedisNodes> {
    const isCluster = /\bredis_mode:cluster\b/.test(await infoOf(first))
    if (!isCluster && target.seeds.length > 1) {
      throw new InvalidInputError(
        'invalid-store-url',
        `several servers are for a cluster, but Redis at ${first.name} is not one: give only one server`,
      )
    }
    const nodes = new RedisNodes(driver, target, isCluster, first)
    if (isCluster) await nodes.#refresh(first.address)
    return nodes
  }

  /** The addresses of all masters. */
  get addresses(): readonly RedisAddress[] {
    if (!this.isCluster) return [this.target.seeds[0]!]
    return [...new Map(this.#ranges.map(({ address }) => [shownAddress(address), address])).values()]
  }

  /** Sends a command to the server of `key`. A write waits for as many replicas as the URL says. */
  async call(key: string, args: readonly Argument[], traits = plainRead): Promise<Reply> {
    const slot = this.isCluster ? slotOf(key) : 0
    let askTarget: RedisAddress | undefined
    for (let redirections = 0; ; redirections++) {
      let connection: RedisConnection | undefined
      try {
        connection = await this.#connection(askTarget ?? this.#addressOf(slot))
        const sending = connection
        const isAsking = askTarget !== undefined
        const send = (): Promise<Reply> => this.#send(sending, args, traits.isWrite === true, isAsking)
        return await (traits.isLarge === true ? connection.large.run(send) : send())
      } catch (error) {
        const where = `${key} on ${connection?.name ?? 'no server'}`
        if (!this.isCluster || redirections >= MAX_REDIRECTIONS) throw storeErrorOf(error, where)
        askTarget = undefined
        const code = replyCodeOf(error)
        if (code === 'MOVED') {
          await this.#refresh(redirectedTo(error, connection!.address)).catch(() => undefined)
        } else if (code === 'ASK') {
          askTarget = redirectedTo(error, connection!.address)
        } else if (isUnsent(error) || connection === undefined) {
          // The master may be gone, and another node may have replaced it.
          const before = shownAddress(this.#addressOf(slot))
          await this.#refresh().catch(() => undefined)
          if (shownAddress(this.#addressOf(slot)) === before) throw storeErrorOf(error, where)
        } else {
          void this.#refresh().catch(() => undefined)
          throw storeErrorOf(error, where)
        }
      }
    }
  }

  /** The reports of all masters. */
  async reports(): Promise<ServerReport[]> {
    const connections = await Promise.all(this.addresses.map((address) => this.#connection(address)))
    return await Promise.all(
      connections.map(async (connection) => {
        const [info, flushing] = await Promise.all([infoOf(connection), flushingOf(connection)])
        return { info, flushing }
      }),
    )
  }

  close(): void {
    this.#isClosed = true
    for (const connection of this.#open.values()) connection.close()
    this.#open.clear()
  }

  async #send(
    connection: RedisConnection,
    args: readonly Argument[],
    isWrite: boolean,
    isAsking: boolean,
  ): Promise<Reply> {
    if (isAsking) void connection.send(['ASKING']).catch(() => undefined)
    const { waitReplicas, waitMs } = this.target
    if (!isWrite || waitReplicas === 0) return await connection.send(args)
    // WAIT covers the writes of its own connection, so both go through the same one.
    const reply = connection.send(args)
    const waited = connection.send(['WAIT', String(waitReplicas), String(waitMs)])
    const [written, confirmed] = await Promise.allSettled([reply, waited])
    if (written.status === 'rejected') throw written.reason
    if (confirmed.status === 'rejected') throw confirmed.reason
    if (Number(confirmed.value) >= waitReplicas) return written.value
    throw new StoreError(
      'unknown-outcome',
      `Redis at ${connection.name} made the write, but only ${String(confirmed.value)} of ${waitReplicas} replicas confirmed it within ${waitMs} ms`,
    )
  }

  #addressOf(slot: number): RedisAddress {
    if (!this.isCluster) return this.target.seeds[0]!
    const range = this.#ranges.find(({ first, last }) => slot >= first && slot <= last)
    if (range !== undefined) return range.address
    throw new StoreError('store-unavailable', `no node of the cluster serves slot ${slot}`)
  }

  #connection(address: RedisAddress): Promise<RedisConnection> {
    const name = shownAddress(address)
    const known = this.#connections.get(name)
    if (known !== undefined) return known
    const opening = RedisConnection.open(this.driver, address, this.target).then(
      (connection) => {
        if (this.#isClosed) connection.close()
        else this.#open.set(name, connection)
        return connection
      },
      (error: unknown) => {
        this.#connections.delete(name)
        throw connectErrorOf(error, name)
      },
    )
    this.#connections.set(name, opening)
    return opening
  }

  #addConnection(connection: RedisConnection): void {
    this.#connections.set(connection.name, Promise.resolve(connection))
    this.#open.set(connection.name, connection)
  }

  /** Loads which node serves which slots. Asks `first`, then the connected nodes, then the seeds. */
  #refresh(first?: RedisAddress): Promise<void> {
    return (this.#refreshing ??= this.#loadSlots(first).finally(() => (this.#refreshing = undefined)))
  }

  async #loadSlots(first: RedisAddress | undefined): Promise<void> {
    const ready = [...this.#open.values()].filter((connection) => connection.isReady)
    const candidates = [
      ...(first === undefined ? [] : [first]),
      ...ready.map(({ address }) => address),
      ...this.target.seeds,
    ]
    let failure: unknown
    for (const address of new Map(candidates.map((each) => [shownAddress(each), each])).values()) {
      try {
        const connection = await this.#connection(address)
        if (!connection.isReady) continue
        this.#ranges = rangesOf(await connection.send(['CLUSTER', 'SLOTS']), address)
        this.#closeUnused()
        return
      } catch (error) {
        failure = error
      }
    }
    throw failure ?? new StoreError('store-unavailable', 'no node of the cluster is connected')
  }

  /** Closes connections to nodes that serve no slot any more and are not connected. */
  #closeUnused(): void {
    const serving = new Set(this.#ranges.map(({ address }) => shownAddress(address)))
    for (const [name, connection] of this.#open) {
      if (serving.has(name) || connection.isReady) continue
      connection.close()
      this.#open.delete(name)
      this.#connections.delete(name)
    }
  }
}

/** The settings of the append-only file. Undefined when the server refuses to show them, as hosted ones do. */
async function flushingOf(connection: RedisConnection): Promise<ReadonlyMap<string, string> | undefined> {
  let flat: Reply
  try {
    flat = await connection.send(['CONFIG', 'GET', '*appendfsync*'])
  } catch (error) {
    if (replyCodeOf(error) === '') throw error
    return undefined
  }
  const args = (flat as Reply[]).map(String)
  return new Map(args.flatMap((word, index) => (index % 2 === 0 ? [[word, args[index + 1]!]] : [])))
}

async function infoOf(connection: RedisConnection): Promise<string> {
  return String(await connection.send(['INFO']))
}

/** Parses the reply of CLUSTER SLOTS: first slot, last slot, the master's host, port and id, its replicas. */
function rangesOf(reply: Reply, asked: RedisAddress): SlotRange[] {
  return (reply as Reply[]).map((range) => {
    const [first, last, master] = range as [number, number, Reply[]]
    // A node that does not know its own address leaves it out. It is then the node that was asked.
    const host = String(master[0] ?? '') || asked.host
    return { first, last, address: { host, port: Number(master[1]) } }
  })
}

/** The address in an error such as `MOVED 3999 127.0.0.1:6381` or `ASK …`. */
function redirectedTo(error: unknown, asked: RedisAddress): RedisAddress {
  const address = (error as Error).message.split(' ')[2] ?? ''
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon) || asked.host, port: Number(address.slice(colon + 1)) }
}
