import { freePorts } from './free-ports.js'
import { RedisProcess } from './redis-process.js'

/** A Redis for tests: the one of `CARILLON_TEST_REDIS_URL`, or one that is started and ended with the tests. */
export interface RedisServer {
  readonly url: string
  /** The process; undefined when the server is somebody else's. */
  readonly process: RedisProcess | undefined
  stop(): Promise<void>
}

export async function startRedis(): Promise<RedisServer> {
  const url = process.env['CARILLON_TEST_REDIS_URL']
  if (url !== undefined) return { url, process: undefined, stop: () => Promise.resolve() }
  return await startOwnRedis()
}

/** One that a test may kill, pause and set up as it likes. */
export async function startOwnRedis(
  settings: readonly string[] = [],
): Promise<RedisServer & { readonly process: RedisProcess }> {
  const [port] = await freePorts(1)
  const server = await RedisProcess.start(port!, settings)
  return { url: `redis://127.0.0.1:${port}`, process: server, stop: () => server.stop() }
}
