import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/index.js'
import { eventually } from '../eventually.js'
import { startPair } from './server-pair.js'
import { TestServer } from './test-server.js'

type Two = Awaited<ReturnType<typeof startPair>>

/** Sets the target of the kind to `lease`. */
async function addLeaseTarget(two: Two): Promise<void> {
  await two.setFar()
  const target = { type: 'lease', duration: '1h', retry: { attempts: 1 } }
  expect((await two.owner.call('PUT', '/v1/targets/remind', target)).status).toBe(200)
}

/** Leases a firing at the owner and returns its receipt. */
async function leaseAtOwner({
  owner,
  key,
}: Two): Promise<{ readonly receipt: string; readonly name: string }> {
  const name = key()
  await owner.call('PUT', `/v1/timers/remind/${name}`, { in: 0 })
  const { body } = await owner.call('POST', '/v1/leases', { kinds: ['remind'], waitMs: 10_000 })
  expect(body.firings).toMatchObject([{ key: name, attempt: 1 }])
  return { receipt: body.firings[0].receipt as string, name }
}

async function send(served: TestServer, receipt: string, action: string, body: object = {}, headers = {}) {
  const answer = await served.call('POST', `/v1/leases/${receipt}/${action}`, body, headers)
  return [answer.status, answer.body.outcome ?? answer.body.code] as const
}

describe('a worker lease of one instance', () => {
  it('can be acked, extended and released through another instance', async () => {
    await using two = await startPair()
    await addLeaseTarget(two)
    const first = await leaseAtOwner(two)
    expect(await send(two.other, first.receipt, 'extend', { duration: '2h' })).toEqual([200, 'extended'])
    expect(await send(two.other, first.receipt, 'ack')).toEqual([200, 'acked'])
    expect(await send(two.other, first.receipt, 'ack')).toEqual([410, 'receipt-stale'])
    expect(await send(two.owner, first.receipt, 'ack')).toEqual([410, 'receipt-stale'])
    await eventually(async () =>
      expect((await two.owner.call('GET', `/v1/timers/remind/${first.name}`)).body.state).toBe('settled'),
    )
    const second = await leaseAtOwner(two)
    const release = { dead: true, reason: 'no such order' }
    expect(await send(two.other, second.receipt, 'release', release)).toEqual([200, 'released'])
    await eventually(async () => {
      const { items } = (await two.other.call('GET', '/v1/dead')).body as { items: object[] }
      expect(items).toMatchObject([{ key: second.name, reason: 'no such order' }])
    })
    const third = await leaseAtOwner(two)
    expect(await send(two.other, third.receipt, 'extend', { duration: 0 })).toEqual([400, 'invalid-option'])
  })

  it('cannot be acked from another namespace', async () => {
    await using two = await startPair()
    await addLeaseTarget(two)
    const { receipt } = await leaseAtOwner(two)
    const elsewhere = { 'carillon-namespace': 'other' }
    expect(await send(two.other, receipt, 'ack', {}, elsewhere)).toEqual([410, 'receipt-stale'])
    expect(await send(two.other, receipt, 'ack')).toEqual([200, 'acked'])
  })

  it('is stale once its instance is gone', async () => {
    await using two = await startPair()
    await addLeaseTarget(two)
    const { receipt } = await leaseAtOwner(two)
    expect(await send(two.other, `nobody.${receipt}`, 'ack')).toEqual([410, 'receipt-stale'])
    await two.owner.server.stop()
    await eventually(async () =>
      expect(await send(two.other, receipt, 'ack')).toEqual([410, 'receipt-stale']),
    )
  })

  it('is answered owner-unreachable, not stale, while its instance cannot be reached', async () => {
    await using two = await startPair({ address: 'http://127.0.0.1:1' }, false)
    await addLeaseTarget(two)
    const { receipt } = await leaseAtOwner(two)
    expect(await send(two.other, receipt, 'ack')).toEqual([503, 'owner-unreachable'])
    expect(await send(two.owner, receipt, 'ack')).toEqual([200, 'acked'])
  })

  it('is not stale for an instance that has not read the new member yet', async () => {
    const store = new MemoryStore({ strategy: 'claim' })
    const common = { store, auth: false }
    await using early = await TestServer.start({
      ...common,
      engine: { strategy: 'claim', heartbeatMs: 60_000, leaseMs: 120_000 },
    })
    await using late = await TestServer.start({ ...common, engine: { strategy: 'claim', heartbeatMs: 20 } })
    await late.call('PUT', '/v1/timers/remind/a', { in: 0 })
    await late.call('PUT', '/v1/targets/remind', { type: 'lease', duration: '1h' })
    const { body } = await late.call('POST', '/v1/leases', { kinds: ['remind'], waitMs: 10_000 })
    const { receipt } = body.firings[0] as { receipt: string }
    const statuses = new Set<number>()
    await eventually(async () => {
      const [status] = await send(early, receipt, 'ack')
      statuses.add(status)
      expect(status).toBe(200)
    })
    expect(statuses).not.toContain(410)
  })
})
