import { describe, expect, it } from 'vitest'
import { Idempotency } from '../../src/server/idempotency.js'
import { systemClock } from '../../src/time/index.js'
import { Served } from './served.js'

const once = { 'idempotency-key': 'operation-1' }

describe('an Idempotency-Key', () => {
  it('has a cancel answered as the first time', async () => {
    await using served = await Served.start()
    await served.call('PUT', '/v1/timers/remind/a', { in: '1h' })
    const first = await served.call('DELETE', '/v1/timers/remind/a', undefined, once)
    const second = await served.call('DELETE', '/v1/timers/remind/a', undefined, once)
    expect([first.status, second.status, second.body.outcome]).toEqual([200, 200, 'cancelled'])
    const other = await served.call('DELETE', '/v1/timers/remind/a')
    expect(other.status).toBe(404)
  })

  it('has a move carried out once, though the timer was moved on since', async () => {
    await using served = await Served.start()
    await served.call('PUT', '/v1/timers/remind/a', { in: '1h' })
    const at = 4_102_444_800_000
    await served.call('POST', '/v1/timers/remind/a/move', { at }, once)
    await served.call('POST', '/v1/timers/remind/a/move', { at: at + 1000 })
    expect((await served.call('POST', '/v1/timers/remind/a/move', { at }, once)).status).toBe(200)
    expect((await served.call('GET', '/v1/timers/remind/a')).body.dueAt).toBe(at + 1000)
    expect((await served.call('POST', '/v1/timers/remind/a/move', { at: at + 2 }, once)).status).toBe(422)
  })

  it('has a batch carried out once, with the same answers', async () => {
    await using served = await Served.start()
    const rows = [{ kind: 'remind', in: '1h' }]
    const first = await served.call('POST', '/v1/batch', rows, once)
    const second = await served.call('POST', '/v1/batch', rows, once)
    expect(second.body).toEqual(first.body)
    expect((await served.call('GET', '/v1/timers')).body.items).toHaveLength(1)
  })

  it('has a batch answered as the first time also where rows were refused: those go under another', async () => {
    await using served = await Served.start()
    await served.call('PUT', '/v1/quota', { maxTimers: 0 })
    const rows = [{ kind: 'remind', key: 'a', in: '1h' }]
    const first = await served.call('POST', '/v1/batch', rows, once)
    expect(first.body).toMatchObject([{ outcome: 'refused', code: 'quota-exceeded' }])
    await served.call('DELETE', '/v1/quota')
    expect((await served.call('POST', '/v1/batch', rows, once)).body).toEqual(first.body)
    const other = { 'idempotency-key': 'operation-2' }
    expect((await served.call('POST', '/v1/batch', rows, other)).body).toMatchObject([{ outcome: 'set' }])
  })

  it('is its own for each key of the server: timers whose keys are made from it do not meet', async () => {
    await using served = await Served.start()
    const { token } = await served.server.keys.create({ name: 'other', scope: 'write' })
    const other = { ...once, authorization: `Bearer ${token}` }
    const first = await served.call('POST', '/v1/timers/remind', { in: '1h', payload: 1 }, once)
    const second = await served.call('POST', '/v1/timers/remind', { in: '1h', payload: 2 }, other)
    expect([first.status, second.status]).toEqual([201, 201])
    const { items } = (await served.call('GET', '/v1/timers')).body
    expect(items.map(({ payload }: { payload: number }) => payload).toSorted()).toEqual([1, 2])
  })

  it('keeps no key that was made', async () => {
    await using served = await Served.start()
    const wanted = { name: 'app', scope: 'read' }
    const first = await served.call('POST', '/v1/keys', wanted, once)
    const second = await served.call('POST', '/v1/keys', wanted, once)
    expect(first.body.token).not.toBe(second.body.token)
  })
})

describe('another request under an Idempotency-Key that is still being worked on', () => {
  it('is refused, whatever comes of the first', async () => {
    const idempotency = new Idempotency(systemClock)
    let fail = (_error: Error): void => undefined
    const work = new Promise<never>((_, reject) => (fail = reject))
    const first = idempotency.once('scope', 'key', ['PUT', 1], () => work)
    const second = idempotency.once('scope', 'key', ['PUT', 2], () => Promise.resolve('done'))
    fail(new Error('the first failed'))
    await expect(second).rejects.toMatchObject({ code: 'idempotency-mismatch' })
    await expect(first).rejects.toThrow('the first failed')
    expect(await idempotency.once('scope', 'key', ['PUT', 2], () => Promise.resolve('done'))).toBe('done')
    idempotency.stop()
  })
})
