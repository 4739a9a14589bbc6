import { CarillonError, InvalidInputError, StoreError } from '../../error/index.js'
import { RedisConnection, type Reply, type Word } from './connection.js'
import type { RedisDriver } from './driver.js'
import { connectErrorOf, isUnsent, replyCodeOf, storeErrorOf } from './redis-error.js'
import { type RedisAddress, type RedisTarget, shownAddress } from './redis-url.js'
import { slotOf } from './slot.js'

const MOST_REDIRECTIONS = 8

/** What is to be known of a command to send it. */
export interface CommandTraits {
  readonly isWrite?: boolean
  /** Its reply is so large that few are to be under way at once. */
  readonly isLarge?: boolean
}

const plainRead: CommandTraits = Object.freeze({})

interface SlotRange {
  readonly first: number
  readonly last: number
  readonly address: RedisAddress
}

/**
 * The servers of a store: one, or the masters of a cluster. A call goes to the master of its key's slot, follows
 * where a cluster says the slot has gone, and is otherwise sent once: its rejection says whether nothing happened
 * or whether that is unknown.
 */
export class RedisNodes {
  readonly driver: RedisDriver
  readonly target: RedisTarget
  readonly isCluster: boolean
  readonly #connections = new Map<string, Promise<RedisConnection>>()
  #open = new Map<string, RedisConnection>()
  #ranges: readonly SlotRange[] = []
  #refreshing: Promise<void> | undefined
  #isEnded = false

  private constructor(driver: RedisDriver, target: RedisTarget, isCluster: boolean, first: RedisConnection) {
    this.driver = driver
    this.target = target
    this.isCluster = isCluster
    this.#keep(first)
  }

  /** Connects to the first seed that answers. */
  static async open(driver: RedisDriver, target: RedisTarget): Promise<RedisNodes> {
    let failure: StoreError | undefined
    for (const seed of target.seeds) {
      let connection: RedisConnection | undefined
      try {
        connection = await RedisConnection.open(driver, seed, target)
        return await RedisNodes.#over(driver, target, connection)
      } catch (error) {
        connection?.end()
        if (error instanceof CarillonError && !(error instanceof StoreError)) throw error
        failure ??= error instanceof StoreError ? error : connectErrorOf(error, shownAddress(seed))
      }
    }
    throw failure!
  }

  static async #over(driver: RedisDriver, target: RedisTarget, first: RedisConnection): Promise<RedisNodes> {
    const isCluster = /\bredis_mode:cluster\b/.test(await infoOf(first))
    if (!isCluster && target.seeds.length > 1) {
      throw new InvalidInputError(
        'invalid-store-url',
        `several servers are for a cluster, and Redis at ${first.name} is none: give one of them`,
      )
    }
    const nodes = new RedisNodes(driver, target, isCluster, first)
    if (isCluster) await nodes.#refresh(first.address)
    return nodes
  }

  /** Addresses of masters, for those who need any of them. */
  get addresses(): readonly RedisAddress[] {
    if (!this.isCluster) return [this.target.seeds[0]!]
    return [...new Map(this.#ranges.map(({ address }) => [shownAddress(address), address])).values()]
  }

  /** Sends a command to the server of `key`. A write waits for as many replicas as the URL asks for. */
  async call(key: string, words: readonly Word[], traits = plainRead): Promise<Reply> {
    const slot = this.isCluster ? slotOf(key) : 0
    let asked: RedisAddress | undefined
    for (let redirections = 0; ; redirections++) {
      let connection: RedisConnection | undefined
      try {
        connection = await this.#connection(asked ?? this.#addressOf(slot))
        const sending = connection
        const isAsking = asked !== undefined
        const send = (): Promise<Reply> => this.#send(sending, words, traits.isWrite === true, isAsking)
        return await (traits.isLarge === true ? connection.large.run(send) : send())
      } catch (error) {
        const where = `${key} on ${connection?.name ?? 'no server'}`
        if (!this.isCluster || redirections >= MOST_REDIRECTIONS) throw storeErrorOf(error, where)
        asked = undefined
        const code = replyCodeOf(error)
        if (code === 'MOVED') {
          await this.#refresh(movedTo(error, connection!.address)).catch(() => undefined)
        } else if (code === 'ASK') {
          asked = movedTo(error, connection!.address)
        } else if (isUnsent(error) || connection === undefined) {
          // Its master may be gone and another have taken its place.
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

  /** `INFO` of every master. */
  async infos(): Promise<string[]> {
    const connections = await Promise.all(this.addresses.map((address) => this.#connection(address)))
    return await Promise.all(connections.map(infoOf))
  }

  end(): void {
    this.#isEnded = true
    for (const connection of this.#open.values()) connection.end()
    this.#open.clear()
  }

  async #send(
    connection: RedisConnection,
    words: readonly Word[],
    isWrite: boolean,
    isAsking: boolean,
  ): Promise<Reply> {
    if (isAsking) void connection.send(['ASKING']).catch(() => undefined)
    const { waitReplicas, waitMs } = this.target
    if (!isWrite || waitReplicas === 0) return await connection.send(words)
    // On one connection, so that it waits for what was just written.
    const reply = connection.send(words)
    const waited = connection.send(['WAIT', String(waitReplicas), String(waitMs)])
    const [written, confirmed] = await Promise.allSettled([reply, waited])
    if (written.status === 'rejected') throw written.reason
    if (confirmed.status === 'rejected') throw confirmed.reason
    if (Number(confirmed.value) >= waitReplicas) return written.value
    throw new StoreError(
      'unknown-outcome',
      `Redis at ${connection.name} wrote it, but ${String(confirmed.value)} of ${waitReplicas} replicas had it after ${waitMs} ms`,
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
        if (this.#isEnded) connection.end()
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

  #keep(connection: RedisConnection): void {
    this.#connections.set(connection.name, Promise.resolve(connection))
    this.#open.set(connection.name, connection)
  }

  /** Asks who serves which slots: first the node that is said to know, then those that are connected, then seeds. */
  #refresh(first?: RedisAddress): Promise<void> {
    return (this.#refreshing ??= this.#askForSlots(first).finally(() => (this.#refreshing = undefined)))
  }

  async #askForSlots(first: RedisAddress | undefined): Promise<void> {
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
        this.#forget()
        return
      } catch (error) {
        failure = error
      }
    }
    throw failure ?? new StoreError('store-unavailable', 'no node of the cluster is connected')
  }

  /** Ends connections to nodes that serve nothing any more and do not answer. */
  #forget(): void {
    const serving = new Set(this.#ranges.map(({ address }) => shownAddress(address)))
    for (const [name, connection] of this.#open) {
      if (serving.has(name) || connection.isReady) continue
      connection.end()
      this.#open.delete(name)
      this.#connections.delete(name)
    }
  }
}

async function infoOf(connection: RedisConnection): Promise<string> {
  return String(await connection.send(['INFO']))
}

/** The reply of CLUSTER SLOTS: first slot, last slot, the master's host, port and id, its replicas. */
function rangesOf(reply: Reply, asked: RedisAddress): SlotRange[] {
  return (reply as Reply[]).map((range) => {
    const [first, last, master] = range as [number, number, Reply[]]
    // A node that does not know its own address leaves it out: it is the one that was asked.
    const host = String(master[0] ?? '') || asked.host
    return { first, last, address: { host, port: Number(master[1]) } }
  })
}

/** Where `MOVED 3999 127.0.0.1:6381` and `ASK …` say the slot is. */
function movedTo(error: unknown, asked: RedisAddress): RedisAddress {
  const address = (error as Error).message.split(' ')[2] ?? ''
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon) || asked.host, port: Number(address.slice(colon + 1)) }
}
