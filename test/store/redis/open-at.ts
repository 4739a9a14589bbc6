import { afterEach } from 'vitest'
import { RedisStore } from '../../../src/store/redis/redis-store.js'
import type { RedisStoreOptions } from '../../../src/store/redis/redis-store-options.js'

const stores: RedisStore[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop()
})

/** Opens a store that is stopped after the test. */
export async function openAt(url: string, options: RedisStoreOptions = {}): Promise<RedisStore> {
  const store = await RedisStore.open(url, { shardCount: 1, ...options })
  stores.push(store)
  return store
}
