import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../eventually.js'
import { startPostgres } from '../../servers/postgres.js'
import { RedisClusterServer } from '../../servers/redis-cluster.js'
import { TcpProxy } from '../../servers/tcp-proxy.js'
import { TestServer } from '../test-server.js'

// How much longer each outage lasts. `npm run chaos -- outages` sets it, so that leases end meanwhile.
const EXTRA_MS = Number(process.env['CARILLON_OUTAGE_MS'] ?? 0)
const CALL_TIMEOUT_MS = 1000

const ends: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A real store with a real fault. */
interface Outage {
  readonly url: string
  begin(): Promise<void> | void
  end(): Promise<void> | void
}

async function crashedPostgres(): Promise<Outage> {
  const server = await startPostgres()
  ends.push(() => server.stop())
  return { url: server.url, begin: () => server.crash(), end: () => server.restart() }
}

/** The server gets everything, and its answers do not arrive. */
async function frozenPostgres(): Promise<Outage> {
  const server = await startPostgres()
  const proxy = await TcpProxy.to(Number(new URL(server.url).port))
  ends.push(
    () => server.stop(),
    () => proxy.stop(),
  )
  const url = new URL(server.url)
  url.host = `127.0.0.1:${proxy.port}`
  return {
    url: url.href,
    begin: () => proxy.holdAnswers(),
    end: () => {
      proxy.cut()
      proxy.open()
    },
  }
}

async function cutPostgres(): Promise<Outage> {
  const server = await startPostgres()
  const proxy = await TcpProxy.to(Number(new URL(server.url).port))
  ends.push(
    () => server.stop(),
    () => proxy.stop(),
  )
  const url = new URL(server.url)
  url.host = `127.0.0.1:${proxy.port}`
  return { url: url.href, begin: () => proxy.close(), end: () => proxy.open() }
}

async function readOnlyPostgres(): Promise<Outage> {
  const server = await startPostgres()
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  ends.push(
    () => server.stop(),
    () => admin.end(),
  )
  const turn = async (state: 'on' | 'off'): Promise<void> => {
    await admin.query('set default_transaction_read_only = off')
    await admin.query(`alter system set default_transaction_read_only = ${state}`)
    await admin.query('select pg_reload_conf()')
  }
  const begin = async (): Promise<void> => {
    await turn('on')
    // The processes of the server read the new settings one by one.
    await until('new connections are read-only', async () => {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      const { rows } = await client.query<Record<string, string>>('show default_transaction_read_only')
      await client.end()
      return rows[0]!['default_transaction_read_only'] === 'on'
    })
  }
  return { url: server.url, begin, end: () => turn('off') }
}

/** All masters are frozen, so no replica may take over. */
async function frozenCluster(): Promise<Outage> {
  const cluster = await RedisClusterServer.start()
  ends.push(() => cluster.stop())
  await cluster.replicasOnline()
  const masters = cluster.masters()
  return {
    url: cluster.url,
    begin: () => {
      for (const { pid } of masters) process.kill(pid, 'SIGSTOP')
    },
    end: () => {
      for (const { pid } of masters) process.kill(pid, 'SIGCONT')
    },
  }
}

describe.each([
  ['PostgreSQL is down', crashedPostgres, false],
  ['PostgreSQL does not answer', frozenPostgres, false],
  ['the network to PostgreSQL is cut', cutPostgres, false],
  ['PostgreSQL is read-only', readOnlyPostgres, true],
  ['the masters of a Redis Cluster are frozen', frozenCluster, false],
] as const)('while %s', (_, make, answersReads) => {
  it('requests are refused in time, the tools say so, and afterwards all goes on as promised', async () => {
    const outage = await make()
    const server = await TestServer.start({ store: outage.url, callTimeoutMs: CALL_TIMEOUT_MS })
    ends.push(() => server.server.stop())
    const set = (key: string, body: object = { in: '1h' }) =>
      server.call('PUT', `/v1/timers/hello/${key}`, body)
    await until('the server has its shards', async () => (await set('first')).status === 200)
    expect((await set('due', { in: 2000 })).status).toBe(200)
    await outage.begin()
    const refused = await set('refused')
    expect([503, 504]).toContain(refused.status)
    expect(['not-done', 'unknown-outcome', 'owner-unreachable']).toContain(refused.body.code)
    const cancel = await server.call('DELETE', '/v1/timers/hello/due')
    expect([503, 504]).toContain(cancel.status)
    const batch = await server.call('POST', '/v1/batch', [{ kind: 'hello', key: 'batch', in: '1h' }])
    expect([200, 503]).toContain(batch.status)
    expect(batch.body[0]?.outcome ?? 'failed').toBe('failed')
    const metrics = await server.call('GET', '/metrics')
    expect(metrics.status).toBe(200)
    expect(metrics.text).toContain(`carillon_store_up ${Number(answersReads)}`)
    // A store that never answers has no errors yet, but calls that are not answered.
    expect(metrics.text).toMatch(/carillon_store_errors_total\{|carillon_store_calls_in_flight [1-9]/)
    const ready = await fetch(`${server.url}/readyz`)
    expect(ready.status).toBe(answersReads ? ready.status : 503)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    if (EXTRA_MS > 0) await new Promise((resolve) => setTimeout(resolve, EXTRA_MS))
    await outage.end()
    await until('sets work again', async () => (await set('later')).status === 200, 60_000)
    await until('it is ready again', async () => (await fetch(`${server.url}/readyz`)).ok, 60_000)
    // What was cancelled with an unknown outcome may be gone. Otherwise it has fired, late.
    await until(
      'the timer of the outage has fired or is cancelled',
      async () => (await server.call('GET', '/v1/timers/hello/due')).body.state !== 'waiting',
      60_000,
    )
    const timer = await server.call('GET', '/v1/timers/hello/refused')
    expect(refused.body.code === 'not-done' ? timer.status : 404).toBe(404)
  })
})
