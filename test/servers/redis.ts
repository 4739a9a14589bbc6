import { freePorts } from './free-ports.js'
import { RedisProcess } from './redis-process.js'

type RedisUrl = `redis://${string}`

/** A Redis server for tests: the one of `CARILLON_TEST_REDIS_URL`, or a new one that ends with the tests. */
export interface RedisServer {
  readonly url: RedisUrl
  /** The process; undefined for a given server. */
  readonly process: RedisProcess | undefined
  stop(): Promise<void>
}

export async function startRedis(): Promise<RedisServer> {
  const url = process.env['CARILLON_TEST_REDIS_URL']
  if (url !== undefined) return { url: url as RedisUrl, process: undefined, stop: () => Promise.resolve() }
  return await startOwnRedis()
}

/** Starts a new server that a test may kill, pause and configure. */
export async function startOwnRedis(
  settings: readonly string[] = [],
): Promise<RedisServer & { readonly process: RedisProcess }> {
  const [port] = await freePorts(1)
  const server = await RedisProcess.start(port!, settings)
  return { url: `redis://127.0.0.1:${port}`, process: server, stop: () => server.stop() }
}
