import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFinding } from '../../src/cli/commands/server/doctor-command.js'
import type { Finding } from '../../src/store/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { startOwnRedis } from '../servers/redis.js'
import { startPostgres } from '../servers/postgres.js'
import { freePorts } from '../servers/free-ports.js'
import { FileFixture, PostgresFixture, RedisFixture, type StoreFixture } from '../server/store-fixtures.js'
import { TestServer } from '../server/test-server.js'
import { runCli } from './run-cli.js'

/** Runs the doctor and returns its findings by name. */
async function runDoctor(words: readonly string[], env: Record<string, string> = {}) {
  const [port] = await freePorts(1)
  const { code, out, err } = await runCli(
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

for (const fixture of [
  new FileFixture(),
  new PostgresFixture(),
  new RedisFixture(),
] satisfies StoreFixture[]) {
  describe(`carillon doctor on ${fixture.name}`, () => {
    beforeAll(() => fixture.start())
    afterAll(() => fixture.stop())

    it('reports a missing store, then overdue timers and missing keys, then that all is well', async () => {
      const before = await runDoctor(['--store', fixture.url])
      // The PostgreSQL of the tests does not wait for the disk, and the doctor must report that.
      const isDurable = fixture.name !== 'postgres'
      expect([before.code, before.of('store')?.found]).toEqual([
        isDurable ? 0 : 1,
        'reachable; carillon serve will create it',
      ])
      expect(before.of('persistence')?.verdict).toBe(isDurable ? 'ok' : 'fail')
      expect(before.of('writing')).toBeUndefined()

      await (await fixture.open()).stop()
      await runCli(['set', 'ring', 'k1', '--at', '2020-01-01T00:00:00Z', '--store', fixture.url])
      const waiting = await runDoctor(['--store', fixture.url])
      expect(waiting.of('due timers')).toMatchObject({
        verdict: 'warn',
        found: '1 overdue by more than 10 s',
      })
      expect(waiting.of('keys')?.verdict).toBe('warn')
      expect(waiting.of('writing')?.verdict).toBe('ok')
      expect(waiting.of('clock')?.verdict).toBe('ok')

      await runCli(['cancel', 'ring', 'k1', '--store', fixture.url])
      await runCli(['keys', 'create', '--name', 'a', '--store', fixture.url])
      const well = await runDoctor(['--store', fixture.url])
      expect([well.of('due timers')?.verdict, well.of('keys')?.verdict]).toEqual(['ok', 'ok'])
      expect(well.of('store')?.found).toMatch(/^version \d+, strategy owned, \d+ shards$/)
    })
  })
}

describe('carillon doctor', () => {
  it('fails for a store that cannot be reached, and for one that may lose data', async () => {
    const [port] = await freePorts(1)
    const nobody = await runDoctor(['--store', `postgres://a:b@127.0.0.1:${port}/x`])
    expect([nobody.code, nobody.of('store')?.found]).toEqual([
      1,
      expect.stringContaining('(store-unavailable)'),
    ])
    const redis = await startOwnRedis(['--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru'])
    try {
      const volatile = await runDoctor(['--store', redis.url])
      expect(volatile.code).toBe(1)
      expect(volatile.of('persistence')?.verdict).toBe('fail')
      expect(volatile.of('eviction')?.verdict).toBe('fail')
    } finally {
      await redis.stop()
    }
  })

  it('accepts a PostgreSQL that waits for the disk', async () => {
    const server = await startPostgres({ isDurable: true })
    try {
      expect((await runDoctor(['--store', server.url])).of('persistence')?.verdict).toBe('ok')
    } finally {
      await server.stop()
    }
  })

  it('checks whether the server is ready and accepts the key', async () => {
    const store = new MemoryStore()
    await using served = await TestServer.start({ store })
    const port = new URL(served.url).port
    const env = { CARILLON_URL: served.url, CARILLON_KEY: served.token }
    const words = ['--store', 'memory:', '--port', port]
    const well = await runDoctor(words, env)
    expect([well.code, well.of('key')?.verdict, well.of('server')?.verdict, well.of('port')?.found]).toEqual([
      0,
      'ok',
      'ok',
      'a Carillon server listens there',
    ])
    const without = await runDoctor(words, { ...env, CARILLON_KEY: '' })
    expect([without.code, without.of('key')?.advice]).toEqual([1, 'set CARILLON_KEY to a key'])
    store.now = () => Promise.reject(new Error('gone'))
    const red = await runDoctor(words, env)
    expect([red.code, red.of('server')?.verdict]).toEqual([1, 'fail'])
  })

  it('fails for a port on which another program listens', async () => {
    const other = createServer((_request, response) => response.end('hello'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    try {
      const { code, of } = await runDoctor(['--store', 'memory:', '--port', String(port)])
      expect([code, of('port')?.verdict]).toEqual([1, 'fail'])
    } finally {
      other.close()
    }
  })

  it('fails for a port that fetch and browsers refuse', async () => {
    const { code, of } = await runDoctor(['--store', 'memory:', '--port', '6000'], {
      CARILLON_URL: 'http://127.0.0.1:6000',
    })
    expect([code, of('port')?.verdict, of('server')?.verdict]).toEqual([1, 'fail', 'fail'])
    expect(of('port')?.found).toBe('fetch and browsers refuse this port, whatever listens there')
    expect(of('port')?.advice).toBe('choose another --port for carillon serve')
    expect(of('server')?.found).toBe('fetch and browsers refuse this port, whatever listens there')
    expect(of('server')?.advice).toBe('let the server listen on another port, and pass it with --url')
  })

  it('reports a host name that does not resolve', async () => {
    const { of } = await runDoctor(['--store', 'memory:'], { CARILLON_URL: 'http://nobody.invalid:7750' })
    expect(of('server')?.found).toBe('the host name does not resolve')
  })

  it('checks the version of Node.js, and prints readable lines without --json', async () => {
    expect(
      ['18.20.0', '20.18.3', '20.19.0', '22.0.0'].map((version) => nodeFinding(version).verdict),
    ).toEqual(['fail', 'fail', 'ok', 'ok'])
    const [port] = await freePorts(1)
    const { out } = await runCli([
      'doctor',
      '--store',
      'memory:',
      '--port',
      String(port),
      '--url',
      `http://127.0.0.1:${port}`,
    ])
    expect(out).toMatch(/^ok {4}Node.js: \d+/)
    expect(out).toMatch(
      /\nwarn {2}server http:\S+: no server is running\n {6}timers fire only while a server runs/,
    )
  })
})
