import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { eventually } from '../eventually.js'
import { TestServer } from './test-server.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

describe('targets over HTTP', () => {
  it('are set, shown without their secrets, and removed', async () => {
    await using served = await TestServer.start()
    const form = {
      type: 'webhook',
      url: 'https://example.org/timers',
      secret,
      headers: { 'x-token': 'hush' },
    }
    const set = await served.call('PUT', '/v1/targets/remind', form)
    expect(set.body).toMatchObject({ kind: 'remind', type: 'webhook', headerNames: ['x-token'] })
    for (const text of [set.text, (await served.call('GET', '/v1/targets')).text]) {
      expect(text).not.toContain(secret.slice(6, 20))
      expect(text).not.toContain('hush')
    }
    expect((await served.call('GET', '/v1/targets/remind')).body.url).toBe('https://example.org/timers')
    expect((await served.call('DELETE', '/v1/targets/remind')).body).toEqual({ outcome: 'removed' })
    const gone = await served.call('GET', '/v1/targets/remind')
    expect([gone.status, gone.body.code]).toEqual([404, 'target-unknown'])
  })

  it('accept a batch setting of up to 1,000 firings per message', async () => {
    await using served = await TestServer.start()
    const form = { type: 'webhook', url: 'https://example.org/timers', secret }
    const batch = { most: 500, wait: '50ms' }
    const set = await served.call('PUT', '/v1/targets/remind', { ...form, batch })
    expect(set.body).toMatchObject({ kind: 'remind', batch })
    const tooMany = await served.call('PUT', '/v1/targets/remind', { ...form, batch: { most: 1001 } })
    expect(tooMany.status).toBe(400)
  })

  it('refuse URLs that are not public unless the guard allows them', async () => {
    await using served = await TestServer.start()
    for (const url of ['http://127.0.0.1:1/', 'https://10.0.0.1/', 'https://[::1]/', 'file:///etc/passwd']) {
      const { status } = await served.call('PUT', '/v1/targets/remind', { type: 'webhook', url, secret })
      expect(status).toBe(400)
    }
  })

  it('get the timers of their kind, which wait until the kind has a target', async () => {
    const got: string[] = []
    const receiver = createServer((request, response) => {
      let text = ''
      request.on('data', (data) => (text += String(data)))
      request.on('end', () => {
        got.push(text)
        response.end()
      })
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    const { port } = receiver.address() as AddressInfo
    await using served = await TestServer.start({
      guard: { http: true, ports: [port], addresses: ['127.0.0.0/8'] },
    })
    await served.call('PUT', '/v1/timers/remind/a', { in: 0, payload: { n: 1 } })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect((await served.call('GET', '/v1/timers/remind/a')).body).toMatchObject({
      state: 'waiting',
      attempts: 0,
    })
    const url = `http://127.0.0.1:${port}/hook`
    expect((await served.call('PUT', '/v1/targets/remind', { type: 'webhook', url, secret })).status).toBe(
      200,
    )
    await eventually(() => expect(got).toHaveLength(1))
    expect(JSON.parse(got[0]!)).toMatchObject({ type: 'remind', data: { n: 1 } })
    receiver.close()
  })

  it('include the log for kind hello on a new store, but not on a used one', async () => {
    const store = new MemoryStore()
    {
      await using served = await TestServer.start({ store })
      expect((await served.call('GET', '/v1/targets')).body.targets).toMatchObject([
        { kind: 'hello', type: 'log' },
      ])
      await served.call('PUT', '/v1/timers/hello/world', { in: '1h' })
      await served.call('DELETE', '/v1/targets/hello')
    }
    await using again = await TestServer.start({ store })
    const { token } = await again.server.keys.create({ name: 'second', scope: 'admin' })
    const as = { authorization: `Bearer ${token}` }
    expect((await again.call('GET', '/v1/targets', undefined, as)).body.targets).toEqual([])
  })
})

describe('a worker over HTTP', () => {
  it('waits for due firings, leases them, and answers with the receipt', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/targets/encode', { type: 'lease', duration: '30s', retry: { attempts: 2 } })
    const none = await served.call('POST', '/v1/leases', { kinds: ['encode'] })
    expect(none.body).toEqual({ firings: [] })
    const waiting = served.call('POST', '/v1/leases', { kinds: ['encode'], max: 10, waitMs: 20_000 })
    await served.call('PUT', '/v1/timers/encode/film', { in: 0, payload: 'film.mov' })
    const { firings } = (await waiting).body
    expect(firings).toMatchObject([{ kind: 'encode', key: 'film', payload: 'film.mov', attempt: 1 }])
    const at = `/v1/leases/${firings[0].receipt}`
    expect((await served.call('DELETE', '/v1/timers/encode/film')).body.code).toBe('timer-firing')
    expect((await served.call('POST', `${at}/extend`, { duration: '1m' })).body).toEqual({
      outcome: 'extended',
    })
    expect((await served.call('POST', `${at}/release`, { in: 0, reason: 'no' })).body.outcome).toBe(
      'released',
    )
    const stale = await served.call('POST', `${at}/ack`, {})
    expect([stale.status, stale.body.code]).toEqual([410, 'receipt-stale'])
    const again = await served.call('POST', '/v1/leases', { kinds: ['encode'], waitMs: 20_000 })
    expect(again.body.firings).toMatchObject([{ key: 'film', attempt: 2, id: firings[0].id }])
    const { receipt } = again.body.firings[0]
    expect((await served.call('POST', `/v1/leases/${receipt}/ack`, {})).body).toEqual({ outcome: 'acked' })
    await eventually(async () =>
      expect((await served.call('GET', '/v1/timers/encode/film')).body.state).toBe('settled'),
    )
  })

  it('cannot use a receipt from another namespace', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/targets/encode', { type: 'lease' })
    await served.call('PUT', '/v1/timers/encode/film', { in: 0 })
    const { firings } = (await served.call('POST', '/v1/leases', { kinds: ['encode'], waitMs: 20_000 })).body
    const { token } = await served.server.keys.create({ name: 'b', scope: 'write', namespace: 'b' })
    const asB = { authorization: `Bearer ${token}` }
    const path = `/v1/leases/${firings[0].receipt}/ack`
    expect((await served.call('POST', path, {}, asB)).body.code).toBe('receipt-stale')
    expect((await served.call('POST', '/v1/leases', { kinds: ['encode'] }, asB)).body.code).toBe(
      'unknown-kind',
    )
    expect((await served.call('POST', path, {})).body.outcome).toBe('acked')
  })

  it('gets no firing after it has disconnected', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/targets/encode', { type: 'lease' })
    await served.call('PUT', '/v1/targets/other', { type: 'log' })
    const abort = new AbortController()
    const gone = fetch(`${served.url}/v1/leases`, {
      method: 'POST',
      headers: { authorization: `Bearer ${served.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ kinds: ['encode'], waitMs: 60_000 }),
      signal: abort.signal,
    })
    await new Promise((resolve) => setTimeout(resolve, 100))
    abort.abort()
    await expect(gone).rejects.toThrow('aborted')
    await new Promise((resolve) => setTimeout(resolve, 100))
    await served.call('PUT', '/v1/timers/encode/film', { in: 0 })
    const { firings } = (await served.call('POST', '/v1/leases', { kinds: ['encode'], waitMs: 20_000 })).body
    expect(firings).toMatchObject([{ key: 'film', attempt: 1 }])
    await served.call('POST', `/v1/leases/${firings[0].receipt}/ack`, {})
    expect((await served.call('POST', '/v1/leases', { kinds: ['other'] })).body.code).toBe('not-leased')
  })
})
