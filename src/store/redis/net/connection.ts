import { CONNECT_TIMEOUT_MS, MAX_RECONNECT_DELAY_MS, PING_MS, SILENCE_TIMEOUT_MS } from '../defaults.js'
import type { CommandOptions, DriverClient, RedisDriver } from './driver.js'
import { LargeReplies } from './large-replies.js'
import { type RedisAddress, type RedisTarget, shownAddress } from './redis-url.js'

export type Reply = Buffer | string | number | null | Reply[]

export type Argument = string | Buffer

/**
 * One connection to one server. A command is sent at most once: if the connection is lost, the call rejects and the
 * command is never sent again. The connection reconnects by itself until it is closed.
 *
 * Proven by test/store/redis/losses.test.ts.
 */
export class RedisConnection {
  readonly address: RedisAddress
  /** Limits how many commands with large replies run at once. */
  readonly large = new LargeReplies()
  readonly #client: DriverClient
  readonly #commandOptions: CommandOptions
  #failures = 0

  private constructor(address: RedisAddress, client: DriverClient, commandOptions: CommandOptions) {
    this.address = address
    this.#client = client
    this.#commandOptions = commandOptions
  }

  /** Connects. Rejects when that fails. Calls `onReconnect` after every reconnect. */
  static async open(
    driver: RedisDriver,
    address: RedisAddress,
    target: RedisTarget,
    onReconnect: () => void = () => undefined,
  ): Promise<RedisConnection> {
    let hasBeenReady = false
    const commandOptions: CommandOptions = {
      timeout: 0,
      typeMapping: { [driver.RESP_TYPES.BLOB_STRING]: Buffer },
    }
    const client = driver.createClient({
      socket: {
        host: address.host,
        port: address.port,
        ...(target.isSecure && { tls: true }),
        connectTimeout: CONNECT_TIMEOUT_MS,
        socketTimeout: SILENCE_TIMEOUT_MS,
        reconnectStrategy: (retries, cause) =>
          hasBeenReady ? Math.min(25 * 2 ** Math.min(retries, 10), MAX_RECONNECT_DELAY_MS) : cause,
      },
      ...(target.username !== undefined && { username: target.username }),
      ...(target.password !== undefined && { password: target.password }),
      database: target.database,
      RESP: 2,
      disableOfflineQueue: true,
      pingInterval: PING_MS,
      maintNotifications: 'disabled',
      commandOptions,
    })
    const connection = new RedisConnection(address, client, commandOptions)
    client.on('error', () => connection.#failures++)
    client.on('ready', () => {
      connection.#failures = 0
      if (hasBeenReady) onReconnect()
      hasBeenReady = true
    })
    try {
      await client.connect()
    } catch (error) {
      destroy(client)
      throw error
    }
    return connection
  }

  get isReady(): boolean {
    return this.#client.isReady
  }

  /** How many errors there were since it was last connected. */
  get failures(): number {
    return this.#failures
  }

  get name(): string {
    return shownAddress(this.address)
  }

  /** Rejects with the driver's error. `storeErrorOf` translates it. */
  send(args: readonly Argument[]): Promise<Reply> {
    // Drivers before 5.8 ignore the options of the client here.
    return this.#client.sendCommand(args, this.#commandOptions) as Promise<Reply>
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    await this.#client.subscribe(channel, listener)
  }

  close(): void {
    destroy(this.#client)
  }
}

/** Some versions of the driver throw if the client is closed already, such as after a connect that failed. */
function destroy(client: DriverClient): void {
  try {
    client.destroy()
  } catch (error) {
    if (!(error instanceof Error) || error.constructor.name !== 'ClientClosedError') throw error
  }
}
