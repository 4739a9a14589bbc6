import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MemoryStore, type Store } from '../../src/store/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'
import {
  FileFixture,
  MemoryFixture,
  ownsAll,
  PostgresFixture,
  RedisFixture,
  type StoreFixture,
} from './store-fixtures.js'

const fixtures: readonly StoreFixture[] = [
  new MemoryFixture(),
  new FileFixture(),
  new PostgresFixture(),
  new RedisFixture(),
]

describe.each(fixtures)('timers over HTTP on $name', (fixture) => {
  let store: Store
  let served: TestServer

  beforeAll(async () => {
    await fixture.start()
    store = await fixture.open()
    served = await TestServer.start({ store, history: 'all', auth: false })
    await ownsAll(served)
    for (const kind of ['ring', 'bell']) await served.call('PUT', `/v1/targets/${kind}`, { type: 'log' })
  })

  afterAll(async () => {
    await served.server.stop()
    await store.stop()
    await fixture.stop()
  })

  it('are set, read, moved and cancelled by kind and key', async () => {
    const set = await served.call('PUT', '/v1/timers/remind/order%3A7', {
      in: '5m',
      payload: { orderId: '7' },
    })
    expect(set.status).toBe(200)
    expect(set.body).toMatchObject({ outcome: 'set', kind: 'remind', key: 'order:7' })
    expect(set.headers.get('etag')).toBe(`"${set.body.revision}"`)
    const got = await served.call('GET', '/v1/timers/remind/order:7')
    expect(got.body).toMatchObject({ state: 'waiting', payload: { orderId: '7' }, dueAt: set.body.dueAt })
    expect((await served.call('POST', '/v1/timers/remind/order:7/move', { in: '1h' })).body).toEqual({
      outcome: 'moved',
    })
    const moved = await served.call('GET', '/v1/timers/remind/order:7')
    expect(moved.body.dueAt).toBeGreaterThan(set.body.dueAt + 3_000_000)
    expect((await served.call('DELETE', '/v1/timers/remind/order:7')).body).toEqual({ outcome: 'cancelled' })
    const again = await served.call('DELETE', '/v1/timers/remind/order:7')
    expect([again.status, again.body.code]).toEqual([404, 'timer-unknown'])
    expect(again.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect((await served.call('GET', '/v1/timers/remind/order:7')).status).toBe(404)
  })

  it('can have any characters in their keys', async () => {
    for (const key of ['a/b', 'ü', '..', 'a b?c#d', '%', 'x'.repeat(512)]) {
      const path = `/v1/timers/odd/${key === '..' ? '%2e%2e%2f' : encodeURIComponent(key)}`
      const set = await served.call('PUT', path, { in: '1h' })
      expect(set.status).toBe(200)
      expect((await served.call('GET', path)).body.key).toBe(key === '..' ? '../' : key)
    }
    expect((await served.call('PUT', `/v1/timers/odd/${'x'.repeat(513)}`, { in: '1h' })).status).toBe(400)
  })

  it('change only if If-Match and If-None-Match hold', async () => {
    const path = '/v1/timers/remind/conditional'
    const first = await served.call('PUT', path, { in: '1h' }, { 'if-none-match': '*' })
    expect(first.status).toBe(200)
    const second = await served.call('PUT', path, { in: '2h' }, { 'if-none-match': '*' })
    expect([second.status, second.body.code]).toEqual([412, 'revision-conflict'])
    expect(second.body.current).toMatchObject({ key: 'conditional', revision: first.body.revision })
    const stale = `"${first.body.revision + 50}"`
    expect((await served.call('PUT', path, { in: '2h' }, { 'if-match': stale })).status).toBe(412)
    expect((await served.call('POST', `${path}/move`, { in: '2h' }, { 'if-match': stale })).status).toBe(412)
    expect((await served.call('POST', `${path}/fire`, undefined, { 'if-match': stale })).status).toBe(412)
    expect((await served.call('DELETE', path, undefined, { 'if-match': stale })).status).toBe(412)
    const tag = first.headers.get('etag')!
    expect((await served.call('DELETE', path, undefined, { 'if-match': tag })).status).toBe(200)
    expect((await served.call('DELETE', path, undefined, { 'if-match': 'W/"x"' })).status).toBe(400)
  })

  it('are set once per Idempotency-Key, even by concurrent requests', async () => {
    const key = { 'idempotency-key': 'k-1' }
    const sent = { in: '1h', payload: 1 }
    const [one, two] = await Promise.all([
      served.call('POST', '/v1/timers/once', sent, key),
      served.call('POST', '/v1/timers/once', sent, key),
    ])
    expect([one.status, two.status]).toEqual([201, 201])
    expect(two.body).toEqual(one.body)
    expect(two.headers.get('etag')).toBe(one.headers.get('etag'))
    expect(one.headers.get('location')).toBe(`/v1/timers/once/${one.body.key}`)
    await served.call('DELETE', `/v1/timers/once/${one.body.key}`)
    expect((await served.call('POST', '/v1/timers/once', sent, key)).body).toEqual(one.body)
    expect((await served.call('GET', '/v1/timers?kind=once')).body.items).toEqual([])
    const other = await served.call('POST', '/v1/timers/once', { in: '2h' }, key)
    expect([other.status, other.body.code]).toEqual([422, 'idempotency-mismatch'])
  })

  it('can be set under an Idempotency-Key whose first request failed', async () => {
    const headers = { 'idempotency-key': 'k-2' }
    expect((await served.call('PUT', '/v1/timers/once/x', { in: 'soon' }, headers)).status).toBe(400)
    expect((await served.call('PUT', '/v1/timers/once/x', { in: 'soon' }, headers)).status).toBe(400)
    expect((await served.call('PUT', '/v1/timers/once/x', { in: '1h' }, headers)).status).toBe(200)
  })

  it('are found by their handle, which never finds a later timer with the same key', async () => {
    const { handle } = (await served.call('PUT', '/v1/timers/remind/life', { in: '1h' })).body
    expect((await served.call('GET', `/v1/handles/${handle}`)).body.key).toBe('life')
    expect((await served.call('POST', `/v1/handles/${handle}/move`, { in: '2h' })).body.outcome).toBe('moved')
    const later = (await served.call('PUT', '/v1/timers/remind/life', { in: '1h' })).body
    expect((await served.call('GET', `/v1/handles/${handle}`)).status).toBe(404)
    expect((await served.call('DELETE', `/v1/handles/${handle}`)).status).toBe(404)
    expect((await served.call('POST', `/v1/handles/${handle}/fire`)).status).toBe(404)
    expect((await served.call('DELETE', `/v1/handles/${later.handle}`)).body.outcome).toBe('cancelled')
    expect((await served.call('GET', '/v1/handles/nonsense')).body.code).toBe('invalid-handle')
  })

  it('fire on request, and /why shows their history', async () => {
    await served.call('PUT', '/v1/timers/ring/a', { in: '1h', payload: 'x' })
    expect((await served.call('POST', '/v1/timers/ring/a/fire')).body.outcome).toBe('moved')
    const why = await eventually(async () => {
      const { body } = await served.call('GET', '/v1/timers/ring/a/why')
      expect(body.events.map(({ event }: { event: string }) => event)).toContain('settled')
      return body
    })
    expect(why.timer).toMatchObject({ state: 'settled', settled: { outcome: 'done' } })
    expect(why.told[0]).toMatch(/ set, due /)
    const history = (await served.call('GET', '/v1/history?kind=ring&key=a&limit=2')).body
    expect(history.items).toHaveLength(2)
    expect(history.cursor).toBeTypeOf('string')
  })

  it('are paused and resumed alone, by kind and all together', async () => {
    const paths = ['/v1/timers/bell/a', '/v1/timers/bell/b']
    for (const path of paths) await served.call('PUT', path, { in: '1h' })
    expect((await served.call('POST', `${paths[0]}/pause`)).body).toEqual({ outcome: 'paused' })
    expect((await served.call('GET', paths[0]!)).body.state).toBe('paused')
    expect((await served.call('POST', `${paths[0]}/resume`)).body).toEqual({ outcome: 'resumed' })
    expect((await served.call('POST', '/v1/pause', { kind: 'bell' })).body).toEqual({ outcome: 'paused' })
    expect((await served.call('GET', '/v1/pauses')).body).toMatchObject({ all: false, kinds: ['bell'] })
    await served.call('POST', '/v1/timers/bell/a/fire')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect((await served.call('GET', paths[0]!)).body.state).toBe('waiting')
    await served.call('POST', '/v1/resume', { kind: 'bell' })
    await eventually(async () => expect((await served.call('GET', paths[0]!)).body.state).toBe('settled'))
    await served.call('POST', '/v1/pause', {})
    expect((await served.call('GET', '/v1/pauses')).body).toMatchObject({ all: true, kinds: [] })
    await served.call('POST', '/v1/resume', {})
    expect((await served.call('POST', '/v1/pause', { kind: 'nobody' })).body.code).toBe('unknown-kind')
  })

  it('are set on a schedule, which can be previewed', async () => {
    const on = { type: 'daily', at: '09:00', zone: 'Europe/Paris' }
    const preview = await served.call('POST', '/v1/schedules/preview', { on, count: 3 })
    expect(preview.body.occurrences).toHaveLength(3)
    const set = await served.call('PUT', '/v1/timers/daily/a', { on })
    expect(set.body.dueAt).toBe(preview.body.occurrences[0].at)
    expect((await served.call('GET', '/v1/timers/daily/a')).body.on).toEqual(preview.body.schedule)
    expect((await served.call('PUT', '/v1/timers/daily/b', { on: '0 9 * * *' })).status).toBe(200)
    expect((await served.call('PUT', '/v1/timers/daily/b', { on: '61 9 * * *' })).body.code).toBe(
      'invalid-cron',
    )
    expect((await served.call('PUT', '/v1/timers/daily/b', { on, in: 5 })).body.code).toBe('invalid-when')
  })

  it('are listed page by page, with filters', async () => {
    for (let n = 0; n < 25; n++) {
      await served.call('PUT', `/v1/timers/listed/k:${n}`, { in: '1h', tags: n % 5 === 0 ? ['fifth'] : [] })
    }
    const keys: string[] = []
    let cursor = ''
    do {
      const { body } = await served.call('GET', `/v1/timers?kind=listed&limit=10${cursor}`)
      keys.push(...body.items.map(({ key }: { key: string }) => key))
      cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
    } while (cursor !== '')
    expect(new Set(keys).size).toBe(25)
    expect((await served.call('GET', '/v1/timers?kind=listed&tag=fifth')).body.items).toHaveLength(5)
    expect((await served.call('GET', '/v1/timers?kind=listed&keyPrefix=k:1')).body.items).toHaveLength(11)
    const until = Date.now()
    expect((await served.call('GET', `/v1/timers?kind=listed&dueUntil=${until}`)).body.items).toHaveLength(0)
    expect((await served.call('GET', '/v1/timers?kind=listed&cursor=x')).body.code).toBe('invalid-cursor')
    expect((await served.call('GET', '/v1/timers?kind=listed&limit=0')).status).toBe(400)
    expect((await served.call('GET', '/v1/timers?knid=listed')).status).toBe(400)
    const { slices } = (await served.call('GET', '/v1/forecast?kind=listed&over=2h&slice=1h')).body
    expect(slices.map(({ count }: { count: number }) => count)).toEqual([25, 0])
    expect((await served.call('GET', '/v1/kinds')).body.kinds).toContain('listed')
  })
})

describe('dead letters over HTTP', () => {
  it('are listed and set again', async () => {
    // Targets of the server cannot fail on purpose, so a handler in this process kills the timer first.
    const store = new MemoryStore()
    const { openTimers, timer, Dead } = await import('../../src/index.js')
    const kind = timer<unknown>('doomed')
    const before = await openTimers({ store })
    before.handle(kind, () => {
      throw new Dead('it cannot be')
    })
    await before.start()
    await before.set(kind, 'a', { in: 0, payload: 7 })
    await eventually(async () => expect((await before.dead()).items).toHaveLength(1))
    await before.stop()
    await using other = await TestServer.start({ store })
    const { items } = (await other.call('GET', '/v1/dead?kind=doomed')).body
    expect(items).toMatchObject([{ key: 'a', reason: 'it cannot be', payload: 7, attempts: 1 }])
    expect((await other.call('POST', '/v1/dead/redrive', { ids: [items[0].id] })).body).toEqual({
      count: 1,
      beside: [],
    })
    expect((await other.call('POST', '/v1/dead/redrive', { ids: [items[0].id] })).body.count).toBe(0)
    expect((await other.call('POST', '/v1/dead/redrive', { all: true })).body.count).toBe(0)
    expect((await other.call('POST', '/v1/dead/redrive', {})).status).toBe(400)
  })

  it('are deleted by id, by kind and key, or all, only within their namespace', async () => {
    const store = new MemoryStore()
    const { openTimers, timer, Dead } = await import('../../src/index.js')
    const kind = timer('doomed')
    const before = await openTimers({ store })
    before.handle(kind, () => {
      throw new Dead('it cannot be')
    })
    await before.start()
    await before.setMany(
      kind,
      ['a', 'b', 'c', 'd'].map((key) => ({ key, in: 0 })),
    )
    await eventually(async () => expect((await before.dead()).items).toHaveLength(4))
    await before.stop()
    await using other = await TestServer.start({ store })
    const { items } = (await other.call('GET', '/v1/dead')).body
    const foreign = { 'carillon-namespace': 'another' }
    expect((await other.call('DELETE', `/v1/dead/${items[0].id}`, undefined, foreign)).status).toBe(404)
    expect((await other.call('DELETE', '/v1/dead?all=true', undefined, foreign)).body).toEqual({ count: 0 })
    expect((await other.call('DELETE', `/v1/dead/${items[0].id}`)).body).toEqual({ count: 1 })
    expect((await other.call('DELETE', `/v1/dead/${items[0].id}`)).body.code).toBe('dead-unknown')
    const { key } = items[1]
    expect((await other.call('DELETE', `/v1/dead?kind=doomed&key=${key}`)).body).toEqual({ count: 1 })
    expect((await other.call('DELETE', '/v1/dead')).status).toBe(400)
    expect((await other.call('DELETE', '/v1/dead?all=true&kind=doomed')).status).toBe(400)
    expect((await other.call('DELETE', '/v1/dead?all=true')).body).toEqual({ count: 2 })
    expect((await other.call('GET', '/v1/dead')).body.items).toEqual([])
  })
})
