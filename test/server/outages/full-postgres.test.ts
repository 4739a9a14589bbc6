import { afterEach, expect, it } from 'vitest'
import { until } from '../../eventually.js'
import { startPostgres } from '../../servers/postgres.js'
import { TestServer } from '../test-server.js'
import { SmallDisk } from './small-disk.js'

const ends: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

it('a server on PostgreSQL with a full disk refuses sets with 507, answers reads, and goes on when there is space', async (context) => {
  const disk = SmallDisk.mount('160m')
  if (disk === undefined) return context.skip('mounting a small tmpfs needs root')
  ends.push(() => disk.unmount())
  const postgres = await startPostgres({ parent: disk.folder, settings: { shared_buffers: '16MB' } })
  ends.push(() => postgres.stop())
  const server = await TestServer.start({ store: postgres.url, callTimeoutMs: 2000 })
  ends.push(() => server.server.stop())
  const set = (key: string, body: object = { in: '1h', payload: 'x'.repeat(20_000) }) =>
    server.call('PUT', `/v1/timers/hello/${key}`, body)
  await until('the server has its shards', async () => (await set('first')).status === 200)
  await set('later', { in: '1h' })
  await set('due', { in: 1000 })
  disk.fill()
  // A table may have free pages, which are used up first.
  let count = 0
  let refused: Awaited<ReturnType<typeof set>>
  do refused = await set(`k${count++}`)
  while (refused.status === 200 && count < 2000)
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
    507,
    'store-full',
    '30',
  ])
  expect((await server.call('GET', '/v1/timers/hello/first')).body.state).toBe('waiting')
  const cancelled = await server.call('DELETE', '/v1/timers/hello/later')
  // It is tried until the time of the call is over: PostgreSQL keeps no reserve.
  expect([200, 503, 504, 507]).toContain(cancelled.status)
  const { text } = await server.call('GET', '/metrics')
  expect(text).toMatch(/carillon_store_errors_total\{call="\w+",code="store-full"\} [1-9]/)
  disk.makeSpace()
  await until('sets work again', async () => (await set('again')).status === 200)
  await until(
    'the timer of the outage has fired',
    async () => (await server.call('GET', '/v1/timers/hello/due')).body.state === 'settled',
  )
  expect((await server.call('GET', `/v1/timers/hello/k${count - 1}`)).status).toBe(404)
  await until('it is ready', async () => (await fetch(`${server.url}/readyz`)).ok)
})
