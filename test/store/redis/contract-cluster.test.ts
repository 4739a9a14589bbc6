import { afterAll, describe, it } from 'vitest'
import { RedisStore } from '../../../src/store/redis/redis-store.js'
import type { Store } from '../../../src/store/index.js'
import { describeStoreContract } from '../../../src/testing/index.js'
import { RedisClusterServer } from '../../servers/redis-cluster.js'
import { modelFromEnv } from '../model-from-env.js'
import { withNewPrefix } from './prefix.js'

const cluster = await RedisClusterServer.start()
afterAll(() => cluster.stop())

const urls = new WeakMap<Store, string>()

async function open(url: string, options: Parameters<typeof RedisStore.open>[1]): Promise<Store> {
  const store = await RedisStore.open(url, options)
  urls.set(store, url)
  return store
}

describeStoreContract('redis cluster', (options) => open(withNewPrefix(cluster.url), options), {
  runner: { describe, it },
  model: { rounds: 2, ...modelFromEnv() },
  reopen: (stopped, options) => open(urls.get(stopped)!, options),
})
