// A cache whose values expire. Concurrent requests for a missing key share one fetch. Later ones find the value.
import { ExpiringCache } from 'carillon/cache'

const cache = new ExpiringCache<string, string>({ ttl: '5m', limit: 10_000 })

async function load(id: string): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 20))
  return `user ${id}`
}

const ids = ['1', '2', '3', '4']
const requests = Array.from({ length: 10 }, () => ids).flat()
await Promise.all(requests.slice(0, 4).map((id) => cache.take(id, load)))
await Promise.all(requests.slice(4).map((id) => cache.take(id, load)))

const { hits, misses, fetches, hitRate } = cache.stats()
console.log(`${hits + misses} requests, ${fetches} fetches, hit rate ${Math.round(hitRate * 100)} %`)
cache.stop()
