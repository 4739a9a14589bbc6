import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/error/index.js'
import { version } from '../../src/server/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'

describe('the monitoring routes', () => {
  it('report statistics, members and shards, and verify the store', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/timers/hello/1', { in: '1h' })
    await served.call('PUT', '/v1/timers/hello/2', { in: 0 })
    await eventually(async () => {
      const { body } = await served.call('GET', '/v1/statistics')
      expect(body.store).toEqual({ created: 2, settled: 1, cancelled: 0, replaced: 0, dead: 0 })
      expect(body).toMatchObject({ pending: 1, instance: { fired: 1, done: 1 } })
    })
    const { members, self } = (await served.call('GET', '/v1/members')).body
    expect(members).toEqual([self])
    expect((await served.call('GET', '/v1/shards')).body.shards).toMatchObject([{ shard: 0, owner: self }])
    expect((await served.call('GET', '/v1/verify')).body).toMatchObject({
      isWhole: true,
      missing: 0,
      rows: 1,
    })
  })

  it('report a missing row with /v1/verify', async () => {
    const store = new MemoryStore()
    await using served = await TestServer.start({ store })
    for (let n = 0; n < 5; n++) await served.call('PUT', `/v1/timers/hello/${n}`, { in: '1h' })
    const tallies = store.tallies.bind(store)
    store.tallies = async () =>
      (await tallies()).map((tally) => Object.assign({}, tally, { rows: tally.rows - 1 }))
    expect((await served.call('GET', '/v1/verify')).body).toMatchObject({
      isWhole: false,
      missing: 1,
      rows: 4,
    })
  })

  it('serve metrics that match the requests and firings', async () => {
    await using served = await TestServer.start()
    for (let n = 0; n < 3; n++) await served.call('PUT', `/v1/timers/hello/${n}`, { in: 0 })
    await served.call('GET', '/v1/timers/hello/none')
    const text = await eventually(async () => {
      const answer = await served.call('GET', '/metrics')
      expect(answer.text).toContain('carillon_store_settled_total 3')
      return answer.text
    })
    const lines = text.trimEnd().split('\n')
    expect(lines).toContain('carillon_fired_total 3')
    expect(lines).toContain('carillon_lateness_seconds_count 3')
    expect(lines).toContain('carillon_lateness_seconds_bucket{le="+Inf"} 3')
    expect(lines).toContain('carillon_timers_pending 0')
    expect(lines).toContain('carillon_http_requests_total{route="PUT /v1/timers/:kind/:key",status="200"} 3')
    expect(lines).toContain('carillon_http_requests_total{route="GET /v1/timers/:kind/:key",status="404"} 1')
    for (const line of lines) expect(line).toMatch(/^# (HELP|TYPE) |^[a-z0-9_]+(\{[^}]*\})? -?[\d.e+-]+$/)
  })

  it('report alive and ready, and not ready once the store does not answer', async () => {
    const store = new MemoryStore()
    await using served = await TestServer.start({ store })
    expect((await served.call('GET', '/healthz')).body).toEqual({ status: 'alive' })
    expect((await served.call('GET', '/readyz')).body).toEqual({ status: 'ready' })
    store.now = () => Promise.reject(new Error('it is gone'))
    const red = await served.call('GET', '/readyz')
    expect(red.status).toBe(503)
    expect(red.body.faults).toEqual(['the store did not answer within 2000 ms'])
    expect((await served.call('GET', '/healthz')).status).toBe(200)
  })

  it('report ready while newly acquired shards are loaded for the first time', async () => {
    const store = new MemoryStore()
    let loads = 0
    store.load = () => {
      loads++
      return Promise.reject(new StoreError('store-unavailable', 'not yet'))
    }
    await using served = await TestServer.start({ store })
    await eventually(() => {
      expect(loads).toBeGreaterThan(0)
    })
    expect((await served.call('GET', '/readyz')).body).toEqual({ status: 'ready' })
  })

  it('send live events of a namespace only to keys that open it', async () => {
    await using served = await TestServer.start()
    const { token } = await served.server.keys.create({ name: 'b', scope: 'read', namespace: 'b' })
    const [all, own] = await Promise.all([listen(served.url, served.token), listen(served.url, token)])
    await served.call('PUT', '/v1/timers/hello/1', { in: 0 })
    await served.call('PUT', '/v1/targets/hello', { type: 'log' }, { 'carillon-namespace': 'b' })
    await served.call('PUT', '/v1/timers/hello/2', { in: 0 }, { 'carillon-namespace': 'b' })
    await eventually(() => {
      expect(all.text()).toContain('"key":"1"')
      expect(all.text()).toContain('"key":"2"')
      expect(own.text()).toContain('event: fired')
    })
    expect(own.text()).not.toContain('"key":"1"')
    expect(own.text()).not.toContain('event: settled')
    all.end()
    own.end()
  })

  it('serve the docs page without a key, and the page loads nothing from elsewhere', async () => {
    await using served = await TestServer.start()
    const page = await fetch(`${served.url}/docs`)
    const text = await page.text()
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(text).not.toMatch(/(src|href)="https?:|@import|url\(|<script/)
    const document = (await (await fetch(`${served.url}/v1/openapi.json`)).json()) as Record<string, never>
    expect(document['openapi']).toBe('3.1.0')
    for (const path of Object.keys(document['paths']!)) expect(text).toContain(path)
    expect(text).toContain('revision-conflict')
  })

  it('report the version of the package', () => {
    const file = new URL('../../package.json', import.meta.url)
    expect((JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version).toBe(version)
  })
})

/** Listens to events and collects their text. */
async function listen(url: string, token: string): Promise<{ text: () => string; end: () => void }> {
  const abort = new AbortController()
  const response = await fetch(`${url}/v1/events`, {
    headers: { authorization: `Bearer ${token}` },
    signal: abort.signal,
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  let text = ''
  void (async () => {
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
    } catch {
      // The test ended the stream.
    }
  })()
  return { text: () => text, end: () => abort.abort() }
}
