import { readdirSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../eventually.js'
import { startOwnRedis } from '../../servers/redis.js'
import { TestServer } from '../test-server.js'
import { SmallDisk } from './small-disk.js'

const ends: (() => Promise<void> | void)[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A store that can be filled up to its limit, and has space again later. */
interface Fillable {
  readonly url: string
  fill(): void
  makeSpace(): void
}

/** A disk of 16 MB. Undefined where this process may not mount one. */
function smallDisk(): Fillable | undefined {
  const disk = SmallDisk.mount('16m')
  if (disk === undefined) return undefined
  ends.push(() => disk.unmount())
  return { url: `file:${disk.folder}/store`, fill: () => disk.fill(), makeSpace: () => disk.makeSpace() }
}

async function smallRedis(): Promise<Fillable> {
  const redis = await startOwnRedis()
  ends.push(() => redis.stop())
  return {
    url: redis.url,
    fill: () => void redis.process.cli('config', 'set', 'maxmemory', '1mb'),
    makeSpace: () => void redis.process.cli('config', 'set', 'maxmemory', '0'),
  }
}

describe.each([
  ['a file store on a full disk', smallDisk],
  ['Redis at its maxmemory', smallRedis],
])('a server with %s', (_, make) => {
  it('fires and cancels what is stored, refuses sets with 507, and goes on when there is space', async (context) => {
    const store = await make()
    if (store === undefined) return context.skip('mounting a small tmpfs needs root')
    // LMDB's binding may print a failed commit.
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    // A short lease: it has to be renewed several times on the full store.
    const engine = { leaseMs: 1500, leaseMarginMs: 200 }
    const server = await TestServer.start({ store: store.url, engine })
    ends.push(() => server.server.stop())
    await server.call('PUT', '/v1/targets/due', { type: 'log' })
    const rows = Array.from({ length: 200 }, (__, n) => ({
      kind: 'due',
      key: `k${n}`,
      ...(n % 2 === 0 ? { in: 2000 + n * 10 } : { in: '1h' }),
      payload: 'x'.repeat(200),
    }))
    expect((await server.call('POST', '/v1/batch', rows)).status).toBe(200)
    store.fill()
    const set = () => server.call('PUT', '/v1/timers/due/more', { in: '1h', payload: 'x'.repeat(200) })
    const refused = await set()
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      507,
      'store-full',
      '30',
    ])
    const batch = await server.call('POST', '/v1/batch', [{ kind: 'due', key: 'more', in: '1h' }])
    expect([batch.status, batch.body.code]).toEqual([507, 'store-full'])
    // The timers fire, and their outcomes are settled, although the lease has to be renewed meanwhile.
    await until('half of the timers were settled', async () => {
      const { body } = await server.call('GET', '/v1/statistics')
      return body.store?.settled === 100
    })
    const cancels = rows.filter((__, n) => n % 2 === 1).map(({ kind, key }) => ({ do: 'cancel', kind, key }))
    const cancelled = await server.call('POST', '/v1/batch', cancels)
    expect(new Set(cancelled.body.map(({ outcome }: { outcome: string }) => outcome))).toEqual(
      new Set(['cancelled']),
    )
    expect((await server.call('GET', '/readyz')).body).toEqual({ status: 'ready' })
    expect((await set()).status).toBe(507)
    store.makeSpace()
    await until('sets work again', async () => (await set()).status === 200)
  })
})

describe('the reserve of a file store', () => {
  it('is a file beside the data that is given up on a full disk and made again later', async (context) => {
    const store = smallDisk()
    if (store === undefined) return context.skip('mounting a small tmpfs needs root')
    const server = await TestServer.start({ store: store.url })
    ends.push(() => server.server.stop())
    const folder = store.url.slice('file:'.length)
    const set = (key: string) => server.call('PUT', `/v1/timers/kind/${key}`, { in: '1h' })
    await set('a')
    expect(readdirSync(folder)).toContain('reserve')
    store.fill()
    expect((await set('b')).status).toBe(507)
    expect((await server.call('DELETE', '/v1/timers/kind/a')).status).toBe(200)
    expect(readdirSync(folder)).not.toContain('reserve')
    store.makeSpace()
    await until('sets work again', async () => (await set('b')).status === 200)
    await set('c')
    expect(readdirSync(folder)).toContain('reserve')
  })
})
