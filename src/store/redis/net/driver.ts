import { StoreError } from '../../../error/index.js'

/**
 * The part of the package `redis` (node-redis) that is used here. The package is an optional peer dependency, so its
 * own type declarations may be missing. Its versions 5.1 and later have all of it.
 */
export interface RedisDriver {
  createClient(options: ClientOptions): DriverClient
  readonly RESP_TYPES: { readonly BLOB_STRING: number }
}

export interface DriverClient {
  readonly isReady: boolean
  connect(): Promise<unknown>
  destroy(): void
  sendCommand(args: readonly (string | Buffer)[], options: CommandOptions): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  on(event: 'error' | 'ready', listener: (error: unknown) => void): unknown
}

export interface CommandOptions {
  readonly timeout: 0
  readonly typeMapping: Readonly<Record<number, unknown>>
}

interface ClientOptions {
  readonly socket: {
    readonly host: string
    readonly port: number
    readonly tls?: true
    readonly connectTimeout: number
    readonly socketTimeout: number
    readonly reconnectStrategy: (retries: number, cause: Error) => number | Error
  }
  readonly username?: string
  readonly password?: string
  readonly database: number
  readonly RESP: 2
  readonly disableOfflineQueue: true
  readonly pingInterval: number
  readonly maintNotifications: 'disabled'
  readonly commandOptions: CommandOptions
}

/** Loads the driver. Users of a Redis store install it beside Carillon, in a version of their choice. */
export async function loadDriver(load?: () => Promise<unknown>): Promise<RedisDriver> {
  let loaded: unknown
  try {
    // Bundlers accept that a package is missing only if its import is inside a try block.
    loaded = load === undefined ? await import('redis') : await load()
  } catch (error) {
    throw new StoreError(
      'driver-missing',
      'a Redis store needs the package `redis`, which is not installed: npm install redis',
      { cause: error },
    )
  }
  if (isSupported(loaded)) return loaded
  throw new StoreError(
    'driver-unsupported',
    'a Redis store needs the package `redis` in version 5.1 or later, and an older one is installed: npm install redis@6',
  )
}

/** Whether it can detect a silent server and return bytes. The peer range cannot say so: npm would refuse to install. */
function isSupported(loaded: unknown): loaded is RedisDriver {
  if (typeof loaded !== 'object' || loaded === null) return false
  return 'createClient' in loaded && 'RESP_TYPES' in loaded && 'SocketTimeoutError' in loaded
}
