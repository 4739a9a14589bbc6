import { afterAll, describe, it } from 'vitest'
import { RedisStore } from '../../../src/store/redis/redis-store.js'
import type { Store } from '../../../src/store/index.js'
import { describeStoreContract } from '../../../src/testing/index.js'
import { startRedis } from '../../servers/redis.js'
import { modelFromEnv } from '../model-from-env.js'
import { withNewPrefix } from './prefix.js'

const server = await startRedis()
afterAll(() => server.stop())

const urls = new WeakMap<Store, string>()

// Once with the defaults, and once with sizes so small that parts are split and a page spans many of them.
const small = { bucketMs: 1000, partRows: 6, chunkRows: 2 }

for (const [name, tuning] of [
  ['redis', {}],
  ['redis, all sizes small', small],
] as const) {
  const open = async (url: string, options: Parameters<typeof RedisStore.open>[1]): Promise<Store> => {
    const store = await RedisStore.open(url, { ...options, tuning })
    urls.set(store, url)
    return store
  }
  describeStoreContract(name, (options) => open(withNewPrefix(server.url), options), {
    runner: { describe, it },
    model: { rounds: 2, ...modelFromEnv() },
    reopen: (stopped, options) => open(urls.get(stopped)!, options),
  })
}
