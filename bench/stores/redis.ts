import { RedisStore, type Store } from 'carillon/store'
import { startOwnRedis } from '../../test/servers/redis.js'
import type { StoreKind } from './subject.js'

/** A separate Redis server, with its append-only file flushed every second or without persistence. */
function redisKind(settings: readonly string[], query: string): StoreKind {
  return async (clock) => {
    const server = await startOwnRedis(settings)
    const open = async (): Promise<Store> =>
      await RedisStore.open(server.url + query, { clock, shardCount: 1 })
    return {
      store: await open(),
      diskBytes: () => server.process.diskBytes(),
      reopen: open,
      remove: () => void server.stop(),
    }
  }
}

export const redis = redisKind([], '')

export const volatileRedis = redisKind(['--appendonly', 'no'], '?allow=no-aof')
