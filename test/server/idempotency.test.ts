import { describe, expect, it } from 'vitest'
import { Idempotency } from '../../src/server/http/idempotency/idempotency.js'
import { systemClock } from '../../src/time/index.js'
import { TestServer } from './test-server.js'

const once = { 'idempotency-key': 'operation-1' }

describe('an Idempotency-Key', () => {
  it('gives a repeated cancel the first answer', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/timers/remind/a', { in: '1h' })
    const first = await served.call('DELETE', '/v1/timers/remind/a', undefined, once)
    const second = await served.call('DELETE', '/v1/timers/remind/a', undefined, once)
    expect([first.status, second.status, second.body.outcome]).toEqual([200, 200, 'cancelled'])
    const other = await served.call('DELETE', '/v1/timers/remind/a')
    expect(other.status).toBe(404)
  })

  it('runs a move once, even if the timer was moved again meanwhile', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/timers/remind/a', { in: '1h' })
    const at = 4_102_444_800_000
    await served.call('POST', '/v1/timers/remind/a/move', { at }, once)
    await served.call('POST', '/v1/timers/remind/a/move', { at: at + 1000 })
    expect((await served.call('POST', '/v1/timers/remind/a/move', { at }, once)).status).toBe(200)
    expect((await served.call('GET', '/v1/timers/remind/a')).body.dueAt).toBe(at + 1000)
    expect((await served.call('POST', '/v1/timers/remind/a/move', { at: at + 2 }, once)).status).toBe(422)
  })

  it('runs a batch once and repeats its answers', async () => {
    await using served = await TestServer.start()
    const rows = [{ kind: 'remind', in: '1h' }]
    const first = await served.call('POST', '/v1/batch', rows, once)
    const second = await served.call('POST', '/v1/batch', rows, once)
    expect(second.body).toEqual(first.body)
    expect((await served.call('GET', '/v1/timers')).body.items).toHaveLength(1)
  })

  it('repeats the answers of a batch with refused rows, which need a new key', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/quota', { maxTimers: 0 })
    const rows = [{ kind: 'remind', key: 'a', in: '1h' }]
    const first = await served.call('POST', '/v1/batch', rows, once)
    expect(first.body).toMatchObject([{ outcome: 'refused', code: 'quota-exceeded' }])
    await served.call('DELETE', '/v1/quota')
    expect((await served.call('POST', '/v1/batch', rows, once)).body).toEqual(first.body)
    const other = { 'idempotency-key': 'operation-2' }
    expect((await served.call('POST', '/v1/batch', rows, other)).body).toMatchObject([{ outcome: 'set' }])
  })

  it('generates different timer keys for different API keys', async () => {
    await using served = await TestServer.start()
    const { token } = await served.server.keys.create({ name: 'other', scope: 'write' })
    const other = { ...once, authorization: `Bearer ${token}` }
    const first = await served.call('POST', '/v1/timers/remind', { in: '1h', payload: 1 }, once)
    const second = await served.call('POST', '/v1/timers/remind', { in: '1h', payload: 2 }, other)
    expect([first.status, second.status]).toEqual([201, 201])
    const { items } = (await served.call('GET', '/v1/timers')).body
    expect(items.map(({ payload }: { payload: number }) => payload).toSorted()).toEqual([1, 2])
  })

  it('does not keep the answer that contains a new API key', async () => {
    await using served = await TestServer.start()
    const wanted = { name: 'app', scope: 'read' }
    const first = await served.call('POST', '/v1/keys', wanted, once)
    const second = await served.call('POST', '/v1/keys', wanted, once)
    expect(first.body.token).not.toBe(second.body.token)
  })
})

describe('a different request under the Idempotency-Key of a running request', () => {
  it('is refused, even if the running request fails', async () => {
    const idempotency = new Idempotency(systemClock)
    const caller = { apiKeyId: 'a', namespace: 'default' }
    let fail = (_error: Error): void => undefined
    const work = new Promise<never>((_, reject) => (fail = reject))
    const first = idempotency.runOnce(caller, 'key', ['PUT', 1], () => work)
    const second = idempotency.runOnce(caller, 'key', ['PUT', 2], () => Promise.resolve('done'))
    fail(new Error('the first failed'))
    await expect(second).rejects.toMatchObject({ code: 'idempotency-mismatch' })
    await expect(first).rejects.toThrow('the first failed')
    expect(await idempotency.runOnce(caller, 'key', ['PUT', 2], () => Promise.resolve('done'))).toBe('done')
  })
})
