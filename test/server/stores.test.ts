import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'
import { FileFixture, ownsAll, PostgresFixture, RedisFixture, type StoreFixture } from './store-fixtures.js'

const fixtures: readonly StoreFixture[] = [new FileFixture(), new PostgresFixture(), new RedisFixture()]

/** A server on the fixture's store. Both stop after the test. */
async function startOn(fixture: StoreFixture): Promise<TestServer & AsyncDisposable> {
  const store = await fixture.open()
  const served = await TestServer.start({ store, auth: false })
  await ownsAll(served)
  return Object.assign(served, {
    [Symbol.asyncDispose]: async () => {
      await served.server.stop()
      await store.stop()
    },
  })
}

describe.each(fixtures)('a server on $name', (fixture) => {
  beforeAll(() => fixture.start())
  afterAll(() => fixture.stop())

  it('runs batches as an array and as a stream, with one answer per row', async () => {
    await using served = await startOn(fixture)
    const rows = Array.from({ length: 500 }, (_, n) => ({ kind: 'many', key: `k${n}`, in: '1h', payload: n }))
    const listed = await served.call('POST', '/v1/batch', [...rows, { kind: 'many', key: 'bad', in: 'soon' }])
    expect(listed.body).toHaveLength(501)
    expect(listed.body.slice(0, 500).every(({ outcome }: { outcome: string }) => outcome === 'set')).toBe(
      true,
    )
    expect(listed.body[500]).toMatchObject({ outcome: 'refused', code: 'invalid-duration' })
    const lines = [
      { do: 'move', kind: 'many', key: 'k0', in: '2h' },
      { do: 'cancel', kind: 'many', key: 'k1' },
      { do: 'cancel', kind: 'many', key: 'none' },
    ]
    const streamed = await served.call(
      'POST',
      '/v1/batch',
      lines.map((line) => JSON.stringify(line)).join('\n'),
      {
        'content-type': 'application/x-ndjson',
      },
    )
    const outcomes = streamed.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { outcome: string }).outcome)
    expect(outcomes).toEqual(['moved', 'cancelled', 'unknown'])
    expect((await served.call('GET', '/v1/verify')).body).toMatchObject({ isWhole: true, rows: 499 })
  })

  it('leases due firings to workers, which ack, extend and release them', async () => {
    await using served = await startOn(fixture)
    await served.call('PUT', '/v1/targets/task', { type: 'lease' })
    for (const key of ['a', 'b']) await served.call('PUT', `/v1/timers/task/${key}`, { in: 0, payload: key })
    const leased = new Map<string, string>()
    await eventually(async () => {
      const { body } = await served.call('POST', '/v1/leases', { kinds: ['task'], max: 10, waitMs: 1000 })
      for (const { key, receipt } of body.firings) leased.set(key, receipt)
      expect([...leased.keys()].toSorted()).toEqual(['a', 'b'])
    })
    const path = (key: string): string => `/v1/leases/${leased.get(key)}`
    expect((await served.call('POST', `${path('a')}/extend`, { duration: '1m' })).status).toBe(200)
    expect((await served.call('POST', `${path('a')}/ack`, {})).status).toBe(200)
    expect((await served.call('POST', `${path('b')}/release`, { reason: 'not now' })).status).toBe(200)
    expect((await served.call('POST', `${path('b')}/ack`, {})).body.code).toBe('receipt-stale')
    await eventually(async () => {
      expect((await served.call('GET', '/v1/timers/task/a')).body.state).toBe('settled')
      expect((await served.call('GET', '/v1/timers/task/b')).body.attempts).toBe(1)
    })
  })

  it('redrives dead letters, and keeps keys, quotas and timers over a restart', async () => {
    let token = ''
    let firingId = ''
    {
      await using served = await startOn(fixture)
      await served.call('PUT', '/v1/targets/doomed', { type: 'lease' })
      await served.call('PUT', '/v1/timers/doomed/a', { in: 0, retry: { attempts: 1 } })
      await eventually(async () => {
        const { body } = await served.call('POST', '/v1/leases', { kinds: ['doomed'], max: 1, waitMs: 1000 })
        expect(body.firings).toHaveLength(1)
        firingId = body.firings[0].id
        await served.call('POST', `/v1/leases/${body.firings[0].receipt}/release`, { reason: 'no' })
      })
      await eventually(async () => {
        expect((await served.call('GET', '/v1/dead?kind=doomed')).body.items).toMatchObject([{ key: 'a' }])
      })
      token = (await served.call('POST', '/v1/keys', { name: 'kept', scope: 'admin' })).body.token
      await served.call('PUT', '/v1/timers/kept/a', { in: '1h', payload: { n: 1 } })
      await served.call('PUT', '/v1/quota', { maxTimers: 100_000 })
    }
    const store = await fixture.open()
    const again = await TestServer.start({ store })
    try {
      expect(again.server.firstToken).toBeUndefined()
      const own = { authorization: `Bearer ${token}` }
      expect((await again.call('GET', '/v1/timers/kept/a', undefined, own)).body).toMatchObject({
        payload: { n: 1 },
      })
      expect((await again.call('GET', '/v1/quota', undefined, own)).body).toMatchObject({
        maxTimers: 100_000,
      })
      const redriven = await again.call('POST', '/v1/dead/redrive', { kind: 'doomed' }, own)
      expect(redriven.body).toEqual({ count: 1, beside: [] })
      const leased: { id: string }[] = []
      await eventually(async () => {
        const wanted = { kinds: ['doomed'], max: 1, waitMs: 1000 }
        leased.push(...(await again.call('POST', '/v1/leases', wanted, own)).body.firings)
        expect(leased).toHaveLength(1)
      })
      expect(leased).toMatchObject([{ key: 'a', id: firingId }])
      expect((await again.call('GET', '/readyz')).body).toEqual({ status: 'ready' })
      expect((await again.call('GET', '/metrics', undefined, own)).text).toContain('carillon_timers_pending')
      expect((await again.call('GET', '/v1/verify', undefined, own)).body.isWhole).toBe(true)
    } finally {
      await again.server.stop()
      await store.stop()
    }
  })
})
