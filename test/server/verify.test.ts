import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { runCli } from '../cli/run-cli.js'
import { FileFixture, PostgresFixture, RedisFixture, type StoreFixture } from './store-fixtures.js'
import { TestServer } from './test-server.js'

const fixtures: readonly StoreFixture[] = [new FileFixture(), new PostgresFixture(), new RedisFixture()]

for (const fixture of fixtures) {
  describe(`verify on ${fixture.name}`, () => {
    beforeAll(() => fixture.start())
    afterAll(() => fixture.stop())

    it('reports the store as whole, and then a row that was deleted by hand', async () => {
      let store = await fixture.open()
      let served = await TestServer.start({ store, auth: false })
      try {
        for (let n = 0; n < 20; n++) {
          await served.call('PUT', `/v1/timers/hello/k${n}`, { in: '1h', payload: n })
        }
        await served.call('PUT', '/v1/timers/hello/k0', { in: '2h' })
        await served.call('POST', '/v1/timers/hello/k1/move', { in: '2h' })
        await served.call('DELETE', '/v1/timers/hello/k2')
        const whole = (await served.call('GET', '/v1/verify')).body
        expect(whole).toMatchObject({
          isWhole: true,
          missing: 0,
          surplus: 0,
          rows: 19,
          pending: 19,
          broken: [],
        })
        expect(whole.store).toEqual({ created: 21, settled: 0, cancelled: 1, replaced: 1, dead: 0 })
        if (fixture.isExclusive) {
          await served.server.stop()
          await store.stop()
        }
        await fixture.removeRow()
        if (fixture.isExclusive) {
          store = await fixture.open()
          served = await TestServer.start({ store, auth: false })
        }
        const { body } = await served.call('GET', '/v1/verify')
        expect(body).toMatchObject({ isWhole: false, missing: 1, surplus: 0, rows: 18, pending: 19 })
        expect(body.broken).toMatchObject([{ shard: expect.any(Number) as number, missing: 1 }])
        const { code, out } = await runCli(['verify'], { env: { CARILLON_URL: served.url } })
        expect([code, out]).toEqual([
          1,
          expect.stringMatching(/^not whole: 1 missing, 0 too many\n {2}shard \d+: 1 missing: not created/),
        ])
      } finally {
        await served.server.stop()
        await store.stop()
      }
    })
  })
}

describe('verify', () => {
  it('reports a missing row even if another shard has one too many', async () => {
    const store = new MemoryStore()
    await using served = await TestServer.start({ store })
    const counts = { created: 5, settled: 0, cancelled: 0, replaced: 0, dead: 0 }
    store.tallies = () =>
      Promise.resolve([
        { shard: 0, counts, rows: 6 },
        { shard: 1, counts, rows: 4 },
      ])
    expect((await served.call('GET', '/v1/verify')).body).toMatchObject({
      isWhole: false,
      missing: 1,
      surplus: 1,
      rows: 10,
      pending: 10,
    })
  })

  it('counts again if writes came in between', async () => {
    const store = new MemoryStore()
    await using served = await TestServer.start({ store })
    const tallies = store.tallies.bind(store)
    let passes = 0
    store.tallies = async () => {
      const isEarly = passes++ < 2
      return (await tallies()).map((tally) =>
        Object.assign({}, tally, { rows: tally.rows + (isEarly ? 3 : 0) }),
      )
    }
    expect((await served.call('GET', '/v1/verify')).body).toMatchObject({ isWhole: true })
    expect(passes).toBe(3)
  })
})
