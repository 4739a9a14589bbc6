import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers, type TimersOptions } from '../../../src/front/index.js'
import { openStore, type StoreUrl } from '../../../src/store/index.js'
import { RedisClusterServer } from '../../servers/redis-cluster.js'
import { startOwnRedis } from '../../servers/redis.js'
import { until } from '../../eventually.js'
import { TcpProxy } from '../../servers/tcp-proxy.js'
import { withNewPrefix } from './prefix.js'

const server = await startOwnRedis()
const proxy = await TcpProxy.to(server.process.port)
const cluster = await RedisClusterServer.start()
afterAll(async () => {
  await proxy.stop()
  await server.stop()
  await cluster.stop()
})

const ring = timer<{ dueAt: number }>('ring')
// Enough that every instance gets some.
const SHARDS = 16

/** Records the firings of all instances. */
class Receiver {
  readonly fired = new Map<string, { at: number; by: string; id: string; payload: { dueAt: number } }[]>()

  listen(timers: Timers, by: string): void {
    timers.handle(ring, (firing) => {
      const seen = this.fired.get(firing.key) ?? []
      this.fired.set(firing.key, [...seen, { at: Date.now(), by, id: firing.id, payload: firing.payload }])
    })
  }

  get repeats(): number {
    return [...this.fired.values()].filter((seen) => seen.length > 1).length
  }

  get early(): number {
    return [...this.fired.values()].flat().filter(({ at, payload }) => at < payload.dueAt).length
  }
}

const quick: TimersOptions['engine'] = {
  leaseMs: 2000,
  leaseMarginMs: 400,
  heartbeatMs: 300,
  acquireMs: 200,
  inboxPollMs: 100,
  settleMs: 100,
  sweepMs: 500,
}

async function createStore(url: StoreUrl): Promise<StoreUrl> {
  const store = await openStore(url, { shardCount: SHARDS })
  await store.stop()
  return url
}

async function owners(url: string): Promise<string[]> {
  const store = await openStore(url)
  const rows = await store.shards()
  await store.stop()
  return rows.map((row) => row.owner)
}

describe.each([
  ['one Redis server', () => server.url],
  ['a Redis Cluster', () => cluster.url],
])('two instances on %s', (_, urlOf) => {
  it.each(['preload', 'lookahead'] as const)(
    'set, move, cancel and fire each other’s timers, with %s',
    async (strategy) => {
      const url = await createStore(withNewPrefix(urlOf()))
      const receiver = new Receiver()
      const options = { store: url, engine: { ...quick, strategy } }
      const [a, b] = [await openTimers(options), await openTimers(options)]
      receiver.listen(a, 'a')
      receiver.listen(b, 'b')
      await Promise.all([a.start(), b.start()])
      const areSpread = async (): Promise<boolean> => {
        const names = await owners(url)
        return names.every((name) => name !== '') && new Set(names).size === 2
      }
      await until('both instances to own shards', areSpread, 30_000)
      // A set that one instance acknowledged is visible to the other, no matter which one owns the timer.
      for (let round = 0; round < 60; round++) {
        const [one, other] = round % 2 === 0 ? [a, b] : [b, a]
        const key = `seen-${round}`
        await one.set(ring, key, { in: '1h', payload: { dueAt: 0 } })
        expect(await other.move(ring, key, { in: '2h' })).toBe('moved')
        await one.set(ring, key, { in: '1h', payload: { dueAt: 0 } })
        expect(await other.cancel(ring, key)).toBe('cancelled')
      }
      const base = Date.now() + 1500
      const due = (index: number): number => base + (index % 40) * 20
      const rows = Array.from({ length: 200 }, (__, index) => ({
        key: `key-${index}`,
        at: due(index),
        payload: { dueAt: due(index) },
      }))
      await a.setMany(ring, rows.slice(0, 100))
      await b.setMany(ring, rows.slice(100))
      const cancelled = ['key-3', 'key-103', 'key-44', 'key-144']
      for (const [index, key] of cancelled.entries()) {
        expect(await (index % 2 === 0 ? a : b).cancel(ring, key)).toBe('cancelled')
      }
      // Each instance moves a timer that the other one set.
      const later = base + 1500
      await b.set(ring, 'key-7', { at: later, payload: { dueAt: later } })
      expect(await a.move(ring, 'key-107', { at: later })).toBe('moved')
      await until('all timers but the cancelled ones to fire', () => receiver.fired.size >= 196, 30_000)
      await sleep(300)
      expect(receiver.fired.size).toBe(196)
      for (const key of cancelled) expect(receiver.fired.has(key)).toBe(false)
      for (const key of ['key-7', 'key-107']) {
        expect(receiver.fired.get(key)![0]!.at).toBeGreaterThanOrEqual(later)
      }
      expect({ repeats: receiver.repeats, early: receiver.early }).toEqual({ repeats: 0, early: 0 })
      const by = new Set([...receiver.fired.values()].flat().map((each) => each.by))
      expect(by).toEqual(new Set(['a', 'b']))
      await a.stop()
      await b.stop()
      const store = await openStore(url)
      expect(await store.countRows()).toBe(0)
      const { created, settled, cancelled: gone, replaced } = await store.counts()
      expect({ created, settled, gone, replaced }).toEqual({
        created: 201 + 120,
        settled: 196,
        gone: 4 + 60,
        replaced: 1 + 60,
      })
      await store.stop()
    },
  )
})

describe('an instance that is cut off from its Redis server', () => {
  it('loses its shards when its lease ends, and the other instance fires its timers', async () => {
    const url = await createStore(withNewPrefix(server.url))
    const receiver = new Receiver()
    const cutOff = await openTimers({
      store: url.replace(server.url, `redis://127.0.0.1:${proxy.port}`) as StoreUrl,
      engine: quick,
    })
    receiver.listen(cutOff, 'cut off')
    await cutOff.start()
    await until(
      'every shard to have an owner',
      async () => (await owners(url)).every((name) => name !== ''),
      30_000,
    )
    const other = await openTimers({ store: url, engine: quick })
    receiver.listen(other, 'other')
    const start = Date.now()
    const rows = Array.from({ length: 400 }, (_, index) => {
      const dueAt = start + 500 + index * 15
      return { key: `key-${index}`, at: dueAt, payload: { dueAt } }
    })
    await other.setMany(ring, rows)
    await other.start()
    await sleep(1000)
    proxy.close()
    const cutAt = Date.now()
    await until(
      'the other instance to own all shards',
      async () => new Set(await owners(url)).size === 1,
      30_000,
    )
    const takenOver = Date.now() - cutAt
    await until('all timers to fire', () => receiver.fired.size === 400, 30_000)
    proxy.open()
    await until(
      'both instances to own shards again',
      async () => new Set(await owners(url)).size === 2,
      30_000,
    )
    await Promise.all([cutOff.stop(), other.stop()])
    expect(receiver.early).toBe(0)
    // The lease, the time between heartbeats and acquisitions, and a margin for a slow machine.
    expect(takenOver).toBeLessThan(2000 + 300 * 4 + 200 + 3000)
    const store = await openStore(url)
    const { created, settled } = await store.counts()
    expect({ created, settled, rows: await store.countRows() }).toEqual({
      created: 400,
      settled: 400,
      rows: 0,
    })
    await store.stop()
    console.log(`taken over ${takenOver} ms after the cut, ${receiver.repeats} of 400 fired twice`)
  })
})
