import type { DriverClient, RedisDriver } from './driver.js'
import { LargeReplies } from './large-replies.js'
import { type RedisAddress, type RedisTarget, shownAddress } from './redis-url.js'

export type Reply = Buffer | string | number | null | Reply[]

export type Word = string | Buffer

const CONNECT_MS = 5000
// A server that is hung, or behind a network that is gone, would never answer: it is asked every two seconds, and
// given up when nothing came for eight.
const PING_MS = 2000
const SILENCE_MS = 8000
const LONGEST_PAUSE_MS = 1000

/**
 * One connection to one server. A command is sent once or not at all: what was lost with the connection is
 * rejected, never sent again. After a loss it connects again by itself, until it is ended.
 */
export class RedisConnection {
  readonly address: RedisAddress
  /** For commands with large replies. */
  readonly large = new LargeReplies()
  readonly #client: DriverClient
  #failures = 0

  private constructor(address: RedisAddress, client: DriverClient) {
    this.address = address
    this.#client = client
  }

  /** Connects; rejects when that fails. `onReady` hears every time it has connected again. */
  static async open(
    driver: RedisDriver,
    address: RedisAddress,
    target: RedisTarget,
    onReady: () => void = () => undefined,
  ): Promise<RedisConnection> {
    let hasBeenReady = false
    const client = driver.createClient({
      socket: {
        host: address.host,
        port: address.port,
        ...(target.isSecure && { tls: true }),
        connectTimeout: CONNECT_MS,
        socketTimeout: SILENCE_MS,
        reconnectStrategy: (retries, cause) =>
          hasBeenReady ? Math.min(25 * 2 ** Math.min(retries, 10), LONGEST_PAUSE_MS) : cause,
      },
      ...(target.username !== undefined && { username: target.username }),
      ...(target.password !== undefined && { password: target.password }),
      database: target.database,
      RESP: 2,
      disableOfflineQueue: true,
      pingInterval: PING_MS,
      maintNotifications: 'disabled',
      commandOptions: { timeout: 0, typeMapping: { [driver.RESP_TYPES.BLOB_STRING]: Buffer } },
    })
    const connection = new RedisConnection(address, client)
    client.on('error', () => connection.#failures++)
    client.on('ready', () => {
      connection.#failures = 0
      if (hasBeenReady) onReady()
      hasBeenReady = true
    })
    try {
      await client.connect()
    } catch (error) {
      client.destroy()
      throw error
    }
    return connection
  }

  get isReady(): boolean {
    return this.#client.isReady
  }

  /** How often it failed since it was last connected. */
  get failures(): number {
    return this.#failures
  }

  get name(): string {
    return shownAddress(this.address)
  }

  /** Rejects with what the driver says; `storeErrorOf` tells what it means. */
  send(words: readonly Word[]): Promise<Reply> {
    return this.#client.sendCommand(words) as Promise<Reply>
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    await this.#client.subscribe(channel, listener)
  }

  end(): void {
    this.#client.destroy()
  }
}
