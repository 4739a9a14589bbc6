import { describe, expect, it } from 'vitest'
import { openTimers, timer } from '../../src/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'

const once = { 'idempotency-key': 'operation-1' }
const engine = { acquireMs: 20, heartbeatMs: 20, settleMs: 20, stopMs: 200 }

/** Starts another server on the store, with a worker that counts what fires. */
async function start(store: MemoryStore) {
  const served = await TestServer.start({ store, auth: false, engine })
  await served.call('PUT', '/v1/targets/remind', { type: 'lease', duration: '1h' })
  return served
}

async function fireAll(served: TestServer, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const asked = { kinds: ['remind'], max: 10, waitMs: 20_000 }
    const { firings } = (await served.call('POST', '/v1/leases', asked)).body as {
      firings: { id: string; receipt: string }[]
    }
    for (const { id, receipt } of firings) {
      ids.push(id)
      expect((await served.call('POST', `/v1/leases/${receipt}/ack`, {})).status).toBe(200)
    }
  }
  return ids
}

async function settled(served: TestServer, keys: readonly string[]): Promise<void> {
  await eventually(async () => {
    for (const key of keys)
      expect((await served.call('GET', `/v1/timers/remind/${key}`)).body.state).toBe('settled')
  })
}

describe('a set that a client repeats at another instance', () => {
  it.each([
    ['by key', 'PUT', '/v1/timers/remind/a', { in: 0 }],
    ['under a generated key', 'POST', '/v1/timers/remind', { in: 0 }],
  ])('%s does not fire again after a restart', async (_, method, path, body) => {
    const store = new MemoryStore({ shardCount: 2 })
    const first = await start(store)
    const set = await first.call(method, path, body, once)
    expect(set.body.outcome).toBe('set')
    await fireAll(first, 1)
    await settled(first, [set.body.key as string])
    await first.server.stop()
    await using second = await start(store)
    const again = await second.call(method, path, body, once)
    expect([again.status, again.body.handle]).toEqual([set.status, set.body.handle])
    expect((await second.call('GET', '/v1/timers')).body.items).toEqual([])
    const { body: leased } = await second.call('POST', '/v1/leases', { kinds: ['remind'], waitMs: 300 })
    expect(leased.firings).toEqual([])
  })

  it('in a batch does not fire again, row by row', async () => {
    const store = new MemoryStore({ shardCount: 2 })
    const first = await start(store)
    // The last two are equal, but two rows: they are two timers.
    const rows = [
      { kind: 'remind', key: 'a', in: 0 },
      { kind: 'remind', in: 0 },
      { kind: 'remind', in: 0 },
    ]
    const set = await first.call('POST', '/v1/batch', rows, once)
    const keys = (set.body as { key: string }[]).map(({ key }) => key)
    expect(new Set(keys).size).toBe(3)
    await fireAll(first, 3)
    await settled(first, keys)
    await first.server.stop()
    await using second = await start(store)
    const again = await second.call('POST', '/v1/batch', rows, once)
    expect((again.body as { key: string }[]).map(({ key }) => key)).toEqual(keys)
    expect((await second.call('GET', '/v1/timers')).body.items).toEqual([])
  })

  it('is one timer if both arrive at the same time', async () => {
    const store = new MemoryStore({ shardCount: 2 })
    await using one = await start(store)
    await using two = await start(store)
    const setting = [one, two].map((each) => each.call('PUT', '/v1/timers/remind/a', { in: '300ms' }, once))
    const [first, second] = await Promise.all(setting)
    expect(first!.body.handle).toBe(second!.body.handle)
    expect(await fireAll(one, 1)).toHaveLength(1)
    await settled(one, ['a'])
    // The timer counts as settled for its callers as soon as its outcome is known, a moment before the store counts it.
    await eventually(async () => {
      const { body } = await one.call('GET', '/v1/statistics')
      expect(body.store).toMatchObject({ created: 1, settled: 1 })
    })
  })

  it('is another set if the request differs', async () => {
    const store = new MemoryStore({ shardCount: 2 })
    await using one = await start(store)
    await using two = await start(store)
    await one.call('PUT', '/v1/timers/remind/a', { in: '1h', payload: 1 }, once)
    await two.call('PUT', '/v1/timers/remind/a', { in: '1h', payload: 2 }, once)
    expect((await one.call('GET', '/v1/timers/remind/a')).body.payload).toBe(2)
  })

  it('looks nothing up for a request without the header, or a first try of the client', async () => {
    const store = new MemoryStore({ shardCount: 2 })
    let lookups = 0
    const counted = new Proxy(store, {
      get(target, name) {
        if (name === 'findSettled') lookups++
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    await using served = await TestServer.start({ store: counted, auth: false, engine })
    await served.call('PUT', '/v1/timers/remind/a', { in: '1h' })
    await served.call('POST', '/v1/batch', [{ kind: 'remind', key: 'b', in: '1h' }])
    const remote = await openTimers({ store: served.url as `http://${string}` })
    await remote.set(timer('remind'), 'c', { in: '1h' })
    await remote.stop()
    expect(lookups).toBe(0)
    await served.call('PUT', '/v1/timers/remind/d', { in: '1h' }, once)
    expect(lookups).toBe(1)
  })
})
