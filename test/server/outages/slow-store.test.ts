import { afterEach, expect, it } from 'vitest'
import { until } from '../../eventually.js'
import { startPostgres } from '../../servers/postgres.js'
import { TcpProxy } from '../../servers/tcp-proxy.js'
import { TestServer } from '../test-server.js'

const SLOW_MS = 100

const ends: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

it('a server on a slow store answers late, fires what it has loaded, and shows which calls take long', async () => {
  const postgres = await startPostgres()
  const proxy = await TcpProxy.to(Number(new URL(postgres.url).port))
  ends.push(
    () => postgres.stop(),
    () => proxy.stop(),
  )
  const url = new URL(postgres.url)
  url.host = `127.0.0.1:${proxy.port}`
  const callTimeoutMs = 2000
  const server = await TestServer.start({ store: url.href, callTimeoutMs })
  ends.push(() => server.server.stop())
  const set = (key: string, body: object = { in: '1h' }) =>
    server.call('PUT', `/v1/timers/hello/${key}`, body)
  const sum = async (name: string): Promise<number> => {
    const { text } = await server.call('GET', '/metrics')
    const line = text.split('\n').find((each) => each.startsWith(`${name}{call="write"} `))
    return Number(line?.split(' ')[1] ?? 0)
  }
  await until('the server has its shards', async () => (await set('first')).status === 200)
  await set('due', { in: 500 })
  const before = [await sum('carillon_store_calls_total'), await sum('carillon_store_call_seconds_total')]

  proxy.slowDown(SLOW_MS)
  await until('a set is answered', async () => (await set('slow')).status === 200)
  await until(
    'the loaded timer has fired',
    async () => (await server.call('GET', '/v1/timers/hello/due')).body.state === 'settled',
  )
  const calls = (await sum('carillon_store_calls_total')) - before[0]!
  const seconds = (await sum('carillon_store_call_seconds_total')) - before[1]!
  expect(calls).toBeGreaterThan(0)
  expect(seconds / calls).toBeGreaterThan((SLOW_MS / 1000) * 0.9)

  // Slower than a call may take.
  proxy.slowDown(3 * callTimeoutMs)
  const refused = await set('refused')
  expect([503, 504]).toContain(refused.status)
  expect(refused.headers.get('retry-after') ?? '1').toBe('1')
  proxy.slowDown(0)
  proxy.cut()
  await until('sets work again', async () => (await set('later')).status === 200)
  await until('it is ready', async () => (await fetch(`${server.url}/readyz`)).ok)
  const timer = await server.call('GET', '/v1/timers/hello/refused')
  expect(refused.body.code === 'not-done' ? timer.status : 404).toBe(404)
})
