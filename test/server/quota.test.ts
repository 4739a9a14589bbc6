import { describe, expect, it } from 'vitest'
import { Client } from '../../src/client/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { runCli } from '../cli/run-cli.js'
import { TestServer } from './test-server.js'

describe('quotas over HTTP', () => {
  it('are set and shown, and limit only their own namespace', async () => {
    await using served = await TestServer.start()
    const shop = { 'carillon-namespace': 'shop' }
    expect((await served.call('GET', '/v1/quota', undefined, shop)).body).toEqual({})
    const put = await served.call('PUT', '/v1/quota', { maxTimers: 2 }, shop)
    expect(put.body).toMatchObject({ maxTimers: 2, used: { timers: 0, bytes: 0 } })
    for (const key of ['a', 'b']) await served.call('PUT', `/v1/timers/k/${key}`, { in: '1h' }, shop)
    const refused = await served.call('PUT', '/v1/timers/k/c', { in: '1h' }, shop)
    expect([refused.status, refused.body.code]).toEqual([403, 'quota-exceeded'])
    expect((await served.call('PUT', '/v1/timers/k/a', { in: '2h' }, shop)).status).toBe(200)
    expect((await served.call('PUT', '/v1/timers/k/c', { in: '1h' })).status).toBe(200)
    const { quotas } = (await served.call('GET', '/v1/statistics')).body
    expect(quotas).toMatchObject([{ namespace: 'shop', maxTimers: 2, used: { timers: 2 } }])
    const batch = await served.call(
      'POST',
      '/v1/batch',
      [
        { kind: 'k', key: 'a', in: '1h' },
        { kind: 'k', key: 'z', in: '1h' },
      ],
      shop,
    )
    expect(batch.body).toMatchObject([{ outcome: 'set' }, { outcome: 'refused', code: 'quota-exceeded' }])
    expect((await served.call('DELETE', '/v1/quota', undefined, shop)).body).toEqual({ outcome: 'removed' })
    expect((await served.call('PUT', '/v1/timers/k/c', { in: '1h' }, shop)).status).toBe(200)
  })

  it('appear in the statistics for all namespaces, without opening them', async () => {
    const store = new MemoryStore()
    const count = 2100
    for (let index = 0; index < count; index++)
      await store.putSetting(`quota/n%20${index}`, JSON.stringify({ maxTimers: index }))
    await using served = await TestServer.start({ store })
    const { status, body } = await served.call('GET', '/v1/statistics')
    expect([status, body.quotas?.length]).toEqual([200, count])
    expect(body.quotas).toContainEqual({ namespace: 'n 7', maxTimers: 7 })
    const fresh = { 'carillon-namespace': 'fresh' }
    expect((await served.call('PUT', '/v1/timers/k/a', { in: '1h' }, fresh)).status).toBe(200)
  })

  it('can be read but not changed with a key bound to the namespace', async () => {
    await using served = await TestServer.start()
    const { token } = await served.server.keys.create({ name: 'b', scope: 'admin', namespace: 'b' })
    const own = { authorization: `Bearer ${token}` }
    expect((await served.call('PUT', '/v1/quota', { maxTimers: 9 }, own)).status).toBe(403)
    expect((await served.call('GET', '/v1/quota', undefined, own)).status).toBe(200)
  })

  it('can be read and changed with the command line and the client', async () => {
    await using served = await TestServer.start()
    const env = { CARILLON_URL: served.url, CARILLON_KEY: served.token }
    const run = (...words: string[]) => runCli(words, { env })
    expect((await run('quota')).out).toBe('no quota\n')
    expect((await run('quota', '--max-timers', '1', '--max-bytes', '10')).out).toBe(
      '0 of 1 timers, 0 of 10 bytes\n',
    )
    await run('set', 'k', 'a', '--in', '1h')
    const refused = await run('set', 'k', 'b', '--in', '1h')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('(quota-exceeded)')])
    const client = new Client(served.url, { apiKey: served.token })
    await expect(client.set('k', 'b', { in: '1h' })).rejects.toMatchObject({
      name: 'LimitError',
      code: 'quota-exceeded',
    })
    await client.setQuota(undefined)
    expect(await client.getQuota()).toEqual({})
    expect((await run('quota', '--none')).out).toBe('no quota\n')
    expect((await run('quota', '--none', '--max-timers', '1')).code).toBe(2)
  })
})
