import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFinding } from '../../src/cli/doctor-command.js'
import type { Finding } from '../../src/store/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { startOwnRedis } from '../servers/redis.js'
import { startPostgres } from '../servers/postgres.js'
import { freePorts } from '../servers/free-ports.js'
import { FilePlace, PostgresPlace, RedisPlace, type StorePlace } from '../server/store-places.js'
import { Served } from '../server/served.js'
import { spoken } from './spoken.js'

/** What the doctor found, by its name. */
async function examined(words: readonly string[], env: Record<string, string> = {}) {
  const [port] = await freePorts(1)
  const { code, out, err } = await spoken(
    ['doctor', '--json', ...(words.includes('--port') ? [] : ['--port', String(port)]), ...words],
    { env: { CARILLON_URL: `http://127.0.0.1:${port}`, ...env } },
  )
  expect(err).toBe('')
  const findings = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Finding)
  for (const { verdict, advice } of findings) expect(verdict === 'ok').toBe(advice === undefined)
  return { code, of: (name: string) => findings.find((finding) => finding.name.startsWith(name)) }
}

for (const place of [new FilePlace(), new PostgresPlace(), new RedisPlace()] satisfies StorePlace[]) {
  describe(`carillon doctor on ${place.name}`, () => {
    beforeAll(() => place.start())
    afterAll(() => place.stop())

    it('finds a store that is not there yet, one that waits, and one that is well', async () => {
      const before = await examined(['--store', place.url])
      // A PostgreSQL of tests does not wait for the disk, and that is what it must say.
      const isDurable = place.name !== 'postgres'
      expect([before.code, before.of('store')?.found]).toEqual([
        isDurable ? 0 : 1,
        'reachable; carillon serve will make it',
      ])
      expect(before.of('persistence')?.verdict).toBe(isDurable ? 'ok' : 'fail')
      expect(before.of('writing')).toBeUndefined()

      await (await place.open()).stop()
      await spoken(['set', 'ring', 'k1', '--at', '2020-01-01T00:00:00Z', '--store', place.url])
      const waiting = await examined(['--store', place.url])
      expect(waiting.of('due timers')).toMatchObject({
        verdict: 'warn',
        found: '1 have been due for longer than 10 s',
      })
      expect(waiting.of('keys')?.verdict).toBe('warn')
      expect(waiting.of('writing')?.verdict).toBe('ok')
      expect(waiting.of('clock')?.verdict).toBe('ok')

      await spoken(['cancel', 'ring', 'k1', '--store', place.url])
      await spoken(['keys', 'create', '--name', 'a', '--store', place.url])
      const well = await examined(['--store', place.url])
      expect([well.of('due timers')?.verdict, well.of('keys')?.verdict]).toEqual(['ok', 'ok'])
      expect(well.of('store')?.found).toMatch(/^version \d+, strategy owned, \d+ shards$/)
    })
  })
}

describe('carillon doctor', () => {
  it('fails on a store that cannot be reached or may forget', async () => {
    const [port] = await freePorts(1)
    const nobody = await examined(['--store', `postgres://a:b@127.0.0.1:${port}/x`])
    expect([nobody.code, nobody.of('store')?.found]).toEqual([
      1,
      expect.stringContaining('(store-unavailable)'),
    ])
    const redis = await startOwnRedis(['--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru'])
    try {
      const forgetful = await examined(['--store', redis.url])
      expect(forgetful.code).toBe(1)
      expect(forgetful.of('persistence')?.verdict).toBe('fail')
      expect(forgetful.of('eviction')?.verdict).toBe('fail')
    } finally {
      await redis.stop()
    }
  })

  it('finds a PostgreSQL that waits for the disk well', async () => {
    const server = await startPostgres({ isDurable: true })
    try {
      expect((await examined(['--store', server.url])).of('persistence')?.verdict).toBe('ok')
    } finally {
      await server.stop()
    }
  })

  it('looks at the server: readiness and the key', async () => {
    const store = new MemoryStore()
    await using served = await Served.start({ store })
    const port = new URL(served.url).port
    const env = { CARILLON_URL: served.url, CARILLON_KEY: served.token }
    const words = ['--store', 'memory:', '--port', port]
    const well = await examined(words, env)
    expect([well.code, well.of('key')?.verdict, well.of('server')?.verdict, well.of('port')?.found]).toEqual([
      0,
      'ok',
      'ok',
      'a Carillon server listens there',
    ])
    const without = await examined(words, { ...env, CARILLON_KEY: '' })
    expect([without.code, without.of('key')?.advice]).toEqual([1, 'put a key into CARILLON_KEY'])
    store.now = () => Promise.reject(new Error('gone'))
    const red = await examined(words, env)
    expect([red.code, red.of('server')?.verdict]).toEqual([1, 'fail'])
  })

  it('tells a port that somebody else has', async () => {
    const other = createServer((_request, response) => response.end('hello'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    try {
      const { code, of } = await examined(['--store', 'memory:', '--port', String(port)])
      expect([code, of('port')?.verdict]).toEqual([1, 'fail'])
    } finally {
      other.close()
    }
  })

  it('tells a port that programs may listen on and that fetch never asks', async () => {
    const { code, of } = await examined(['--store', 'memory:', '--port', '6000'], {
      CARILLON_URL: 'http://127.0.0.1:6000',
    })
    expect([code, of('port')?.verdict, of('server')?.verdict]).toEqual([1, 'fail', 'fail'])
    expect(of('port')?.found).toBe('fetch and browsers refuse this port, whoever listens there')
    expect(of('port')?.advice).toBe('choose another --port for carillon serve')
    expect(of('server')?.found).toBe('fetch and browsers refuse this port, whoever listens there')
    expect(of('server')?.advice).toBe('have the server listen on another port, and give that by --url')
  })

  it('tells a server whose name nobody knows from one that answers as something else', async () => {
    const { of } = await examined(['--store', 'memory:'], { CARILLON_URL: 'http://nobody.invalid:7750' })
    expect(of('server')?.found).toBe('nobody knows a machine of that name')
  })

  it('knows which versions of Node.js will do, and writes for people', async () => {
    expect(
      ['18.20.0', '20.18.3', '20.19.0', '22.0.0'].map((version) => nodeFinding(version).verdict),
    ).toEqual(['fail', 'fail', 'ok', 'ok'])
    const [port] = await freePorts(1)
    const { out } = await spoken([
      'doctor',
      '--store',
      'memory:',
      '--port',
      String(port),
      '--url',
      `http://127.0.0.1:${port}`,
    ])
    expect(out).toMatch(/^ok {4}Node.js: \d+/)
    expect(out).toMatch(/\nwarn {2}server http:\S+: none runs\n {6}timers fire while a server runs/)
  })
})
