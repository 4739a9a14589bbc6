import { StoreError } from '../../../error/index.js'

/**
 * The part of the package `redis` (node-redis) that is used here. The package is an optional peer dependency, so its
 * own type declarations may be missing.
 */
export interface RedisDriver {
  createClient(options: ClientOptions): DriverClient
  readonly RESP_TYPES: { readonly BLOB_STRING: number }
}

export interface DriverClient {
  readonly isReady: boolean
  connect(): Promise<unknown>
  destroy(): void
  sendCommand(args: readonly (string | Buffer)[]): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  on(event: 'error' | 'ready', listener: (error: unknown) => void): unknown
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
  readonly commandOptions: { readonly timeout: 0; readonly typeMapping: Readonly<Record<number, unknown>> }
}

/** Loads the driver. Users of a Redis store install it beside Carillon. */
export async function loadDriver(load: () => Promise<unknown> = () => import('redis')): Promise<RedisDriver> {
  try {
    return (await load()) as RedisDriver
  } catch (error) {
    throw new StoreError(
      'driver-missing',
      'a Redis store needs the package `redis`, which is not installed: npm install redis',
      { cause: error },
    )
  }
}
