import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { eventually } from '../eventually.js'
import { pair } from './pair.js'
import { Served } from './served.js'

type Two = Awaited<ReturnType<typeof pair>>

/** Has the kind go to workers, on both instances. */
async function forWorkers(two: Two): Promise<void> {
  await two.setFar()
  const target = { type: 'lease', duration: '1h', retry: { attempts: 1 } }
  expect((await two.owner.call('PUT', '/v1/targets/remind', target)).status).toBe(200)
}

/** The receipt of a firing that the owner gave to a worker. */
async function leased({ owner, key }: Two): Promise<{ readonly receipt: string; readonly name: string }> {
  const name = key()
  await owner.call('PUT', `/v1/timers/remind/${name}`, { in: 0 })
  const { body } = await owner.call('POST', '/v1/leases', { kinds: ['remind'], waitMs: 10_000 })
  expect(body.firings).toMatchObject([{ key: name, attempt: 1 }])
  return { receipt: body.firings[0].receipt as string, name }
}

async function say(served: Served, receipt: string, word: string, body: object = {}, headers = {}) {
  const answer = await served.call('POST', `/v1/leases/${receipt}/${word}`, body, headers)
  return [answer.status, answer.body.outcome ?? answer.body.code] as const
}

describe('a lease that one instance gave', () => {
  it('can be acked, extended and released through any other', async () => {
    await using two = await pair()
    await forWorkers(two)
    const first = await leased(two)
    expect(await say(two.asker, first.receipt, 'extend', { duration: '2h' })).toEqual([200, 'extended'])
    expect(await say(two.asker, first.receipt, 'ack')).toEqual([200, 'acked'])
    expect(await say(two.asker, first.receipt, 'ack')).toEqual([410, 'receipt-stale'])
    expect(await say(two.owner, first.receipt, 'ack')).toEqual([410, 'receipt-stale'])
    await eventually(async () =>
      expect((await two.owner.call('GET', `/v1/timers/remind/${first.name}`)).status).toBe(404),
    )
    const second = await leased(two)
    const release = { dead: true, reason: 'no such order' }
    expect(await say(two.asker, second.receipt, 'release', release)).toEqual([200, 'released'])
    await eventually(async () => {
      const { items } = (await two.asker.call('GET', '/v1/dead')).body as { items: object[] }
      expect(items).toMatchObject([{ key: second.name, reason: 'no such order' }])
    })
    const third = await leased(two)
    expect(await say(two.asker, third.receipt, 'extend', { duration: 0 })).toEqual([400, 'invalid-option'])
  })

  it('is for the namespace it was given in', async () => {
    await using two = await pair()
    await forWorkers(two)
    const { receipt } = await leased(two)
    const elsewhere = { 'carillon-namespace': 'other' }
    expect(await say(two.asker, receipt, 'ack', {}, elsewhere)).toEqual([410, 'receipt-stale'])
    expect(await say(two.asker, receipt, 'ack')).toEqual([200, 'acked'])
  })

  it('is over with its instance, and until that is known the worker may ask again', async () => {
    await using two = await pair()
    await forWorkers(two)
    const { receipt } = await leased(two)
    expect(await say(two.asker, `nobody.${receipt}`, 'ack')).toEqual([410, 'receipt-stale'])
    await two.owner.server.stop()
    await eventually(async () => expect(await say(two.asker, receipt, 'ack')).toEqual([410, 'receipt-stale']))
  })

  it('is not called stale only because its instance is not reached', async () => {
    await using two = await pair({ address: 'http://127.0.0.1:1' }, false)
    await forWorkers(two)
    const { receipt } = await leased(two)
    expect(await say(two.asker, receipt, 'ack')).toEqual([503, 'owner-unreachable'])
    expect(await say(two.owner, receipt, 'ack')).toEqual([200, 'acked'])
  })

  it('is not called stale by one that has not heard of its instance yet', async () => {
    const store = new MemoryStore({ strategy: 'claim' })
    const common = { store, auth: false }
    await using early = await Served.start({
      ...common,
      engine: { strategy: 'claim', heartbeatMs: 60_000, leaseMs: 120_000 },
    })
    await using late = await Served.start({ ...common, engine: { strategy: 'claim', heartbeatMs: 20 } })
    await late.call('PUT', '/v1/timers/remind/a', { in: 0 })
    await late.call('PUT', '/v1/targets/remind', { type: 'lease', duration: '1h' })
    const { body } = await late.call('POST', '/v1/leases', { kinds: ['remind'], waitMs: 10_000 })
    const { receipt } = body.firings[0] as { receipt: string }
    const statuses = new Set<number>()
    await eventually(async () => {
      const [status] = await say(early, receipt, 'ack')
      statuses.add(status)
      expect(status).toBe(200)
    })
    expect(statuses).not.toContain(410)
  })
})
