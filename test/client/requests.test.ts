import { describe, expect, it } from 'vitest'
import { openTimers, type RemoteTimers, timer } from '../../src/front/index.js'
import { MemoryStore, type Store } from '../../src/store/index.js'
import type { Duration } from '../../src/time/index.js'
import { until } from '../eventually.js'
import { TestServer } from '../server/test-server.js'

const digest = timer<number>('digest', { retry: { attempts: 3, backoff: '1ms..5ms' } })

async function opened(
  served: TestServer,
  options: Partial<Parameters<typeof openTimers>[0]> = {},
): Promise<RemoteTimers> {
  const apiKey = served.token === '' ? {} : { apiKey: served.token }
  return await openTimers({ ...apiKey, ...options, store: served.url as `http://${string}` })
}

/** How many requests the server has answered, by route, as its metrics count them. */
async function requestsOf(served: TestServer): Promise<(route: string) => number> {
  const { text } = await served.call('GET', '/metrics')
  const counts = new Map<string, number>()
  for (const [, route, count] of text.matchAll(/^carillon_http_requests_total\{route="([^"]+)".*\} (\d+)$/gm))
    counts.set(route!, (counts.get(route!) ?? 0) + Number(count))
  return (route) => [...counts].reduce((sum, [name, count]) => sum + (name.includes(route) ? count : 0), 0)
}

/** A memory store that counts the calls of its owner's writes. */
function countedStore(): { readonly store: Store; readonly writes: () => number } {
  const store = new MemoryStore({ shardCount: 4 })
  let writes = 0
  const counted = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'write') return value.bind(target) as unknown
      return (...args: Parameters<Store['write']>) => {
        writes++
        return target.write(...args)
      }
    },
  })
  return { store: counted, writes: () => writes }
}

function gateOf(): { readonly isOpen: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined
  const isOpen = new Promise<void>((resolve) => (open = resolve))
  return { isOpen, open: () => open() }
}

const rowsOf = (length: number, when: { readonly in: Duration }) =>
  Array.from({ length }, (_, n) => ({ key: `k${n}`, payload: n, ...when }))

describe('the requests of timers on a server', () => {
  it('ack the firings of a batch of handleMany together', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const COUNT = 3000
    let fired = 0
    let batches = 0
    timers.handleMany(digest, (firings) => {
      fired += firings.length
      batches++
    })
    await timers.setMany(digest, rowsOf(COUNT, { in: 0 }))
    await timers.start()
    await until('all are settled', async () => (await timers.list({ limit: 1 })).items.length === 0)
    expect(fired).toBe(COUNT)
    const count = await requestsOf(served)
    const answers = count('/v1/leases/')
    expect(answers).toBeGreaterThan(0)
    expect(answers).toBeLessThanOrEqual(batches)
    expect(batches).toBeLessThan(COUNT / 50)
  })

  it('answer for handlers that end in the same turn together, whatever their outcomes', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const COUNT = 300
    const gates = [gateOf(), gateOf()] as const
    const seen = new Map<number, number>()
    let running = 0
    timers.handle(digest, async (firing) => {
      const times = (seen.get(firing.payload) ?? 0) + 1
      seen.set(firing.payload, times)
      running++
      await gates[times - 1]!.isOpen
      if (times === 2) return undefined
      if (firing.payload % 3 === 0) throw new Error('try again')
      return firing.payload % 3 === 1 ? firing.again({ in: 1 }) : undefined
    })
    await timers.setMany(digest, rowsOf(COUNT, { in: 0 }))
    await timers.start()
    await until('all run', () => running === COUNT)
    expect((await requestsOf(served))('/v1/leases/')).toBe(0)
    gates[0].open()
    // A third was released, a third is to fire again, and a third is done.
    await until('two thirds run again', () => running === COUNT + (2 * COUNT) / 3)
    expect((await requestsOf(served))('/v1/leases/')).toBe(1)
    gates[1].open()
    await until('all are settled', async () => (await timers.list({ limit: 1 })).items.length === 0)
    expect((await requestsOf(served))('/v1/leases/')).toBe(2)
    expect((await timers.dead()).items).toEqual([])
  })

  it('extend all leases of an instance together', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served, { lease: '5s' })
    const COUNT = 200
    const gate = gateOf()
    const attempts: number[] = []
    timers.handle(digest, async ({ attempt }) => {
      attempts.push(attempt)
      await gate.isOpen
    })
    await timers.setMany(digest, rowsOf(COUNT, { in: 0 }))
    await timers.start()
    await until('all run', () => attempts.length === COUNT)
    await until('they were extended', async () => (await requestsOf(served))('/v1/leases/') > 0)
    gate.open()
    await until('all are settled', async () => (await timers.list({ limit: 1 })).items.length === 0)
    // Each round of extensions is one request, and so are the acks.
    expect((await requestsOf(served))('/v1/leases/')).toBeLessThan(COUNT / 10)
  })

  it('cancel and move thousands by query with few requests, and few writes of the store', async () => {
    const { store, writes } = countedStore()
    await using served = await TestServer.start({ store, auth: false })
    await using timers = await opened(served)
    const COUNT = 6000
    await timers.setMany(digest, rowsOf(COUNT, { in: '1h' }))
    for (const change of ['moved', 'cancelled'] as const) {
      const before = await requestsOf(served)
      const writesBefore = writes()
      const outcome =
        change === 'moved'
          ? await timers.moveMany({ kind: digest, keyPrefix: 'k' }, { in: '2h' })
          : await timers.cancelMany({ kind: digest, keyPrefix: 'k' })
      expect(outcome).toEqual({ found: COUNT, [change]: COUNT })
      const after = await requestsOf(served)
      const sent = (route: string): number => after(route) - before(route)
      // Pages of 1,000 to find them, batches of 5,000 to change them.
      expect(sent('GET /v1/timers')).toBe(COUNT / 1000)
      expect(sent('/v1/batch')).toBe(2)
      expect(sent('/v1/handles')).toBe(0)
      // The engine gets 1,000 operations at once, on four shards.
      expect(writes() - writesBefore).toBeLessThanOrEqual((COUNT / 1000) * 4 * 2)
    }
  })

  it('cancel thousands by key with few requests', async () => {
    await using served = await TestServer.start()
    await using timers = await opened(served)
    const COUNT = 6000
    const rows = rowsOf(COUNT, { in: '1h' })
    await timers.setMany(digest, rows)
    const before = await requestsOf(served)
    const keys = rows.map((_, n) => `k${n}`)
    expect(await timers.cancelMany({ kind: digest, keys })).toEqual({ found: COUNT, cancelled: COUNT })
    expect((await requestsOf(served))('/v1/batch') - before('/v1/batch')).toBe(2)
  })
})
