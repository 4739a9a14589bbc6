import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { carillon } from '../../src/cli/index.js'
import { FilePlace, PostgresPlace, RedisPlace, type StorePlace } from './store-places.js'
import { Served } from './served.js'

const places: readonly StorePlace[] = [new FilePlace(), new PostgresPlace(), new RedisPlace()]

for (const place of places) {
  describe(`verify on ${place.name}`, () => {
    beforeAll(() => place.start())
    afterAll(() => place.stop())

    it('finds nothing missing, until a row is taken out by hand', async () => {
      let store = await place.open()
      let served = await Served.start({ store, auth: false })
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
        if (place.isExclusive) {
          await served.server.stop()
          await store.stop()
        }
        await place.removeRow()
        if (place.isExclusive) {
          store = await place.open()
          served = await Served.start({ store, auth: false })
        }
        const { body } = await served.call('GET', '/v1/verify')
        expect(body).toMatchObject({ isWhole: false, missing: 1, surplus: 0, rows: 18, pending: 19 })
        expect(body.broken).toMatchObject([{ shard: expect.any(Number) as number, missing: 1 }])
        const { code, out } = await verify(served.url)
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
  it('does not let one shard make up for another', async () => {
    const store = new MemoryStore()
    await using served = await Served.start({ store })
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

  it('looks again where writes got in between', async () => {
    const store = new MemoryStore()
    await using served = await Served.start({ store })
    const tallies = store.tallies.bind(store)
    let looks = 0
    store.tallies = async () => {
      const isEarly = looks++ < 2
      return (await tallies()).map((tally) =>
        Object.assign({}, tally, { rows: tally.rows + (isEarly ? 3 : 0) }),
      )
    }
    expect((await served.call('GET', '/v1/verify')).body).toMatchObject({ isWhole: true })
    expect(looks).toBe(3)
  })
})

async function verify(url: string): Promise<{ code: number; out: string }> {
  let out = ''
  const code = await carillon(['verify'], {
    environment: { CARILLON_URL: url },
    isTerminal: false,
    isScreen: false,
    out: (text) => (out += text),
    error: (text) => (out += text),
    lines: async function* () {},
  })
  return { code, out }
}
