import { describe, expect, it } from 'vitest'
import type { Timers } from '../../src/front/index.js'
import type { HttpPeers } from '../../src/server/peers/http-peers.js'
import type { LeaseActionOn } from '../../src/server/peers/lease-action.js'
import { LeaseRouter } from '../../src/server/peers/lease-router.js'
import type { LeaseActionRequest, PeerReply } from '../../src/server/peers/peer-message.js'
import { eventually } from '../eventually.js'
import { startPair } from './server-pair.js'
import { TestServer } from './test-server.js'

interface Leased {
  readonly receipt: string
  readonly key: string
}

const target = { type: 'lease', duration: '1h', retry: { attempts: 2, backoff: '1ms..1ms' } }

/** Sets `count` timers that are due, and leases all of them. */
async function leaseAll(served: TestServer, keys: readonly string[]): Promise<readonly Leased[]> {
  await served.call(
    'POST',
    '/v1/batch',
    keys.map((key) => ({ kind: 'remind', key, in: 0 })),
  )
  const leased: Leased[] = []
  while (leased.length < keys.length) {
    const wanted = { kinds: ['remind'], max: keys.length - leased.length, waitMs: 10_000 }
    const { body } = await served.call('POST', '/v1/leases', wanted)
    leased.push(...(body as { firings: Leased[] }).firings)
  }
  return leased
}

async function answer(served: TestServer, rows: readonly unknown[], headers = {}): Promise<string[]> {
  const { status, body } = await served.call('POST', '/v1/leases/batch', rows, headers)
  expect(status).toBe(200)
  return (body as { outcome: string; code?: string }[]).map(({ outcome, code }) => code ?? outcome)
}

describe('a batch of answers for leases', () => {
  it('has one answer per row, and a bad row does not affect the others', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/targets/remind', target)
    const leased = await leaseAll(served, ['a', 'b', 'c', 'd', 'e'])
    const [a, b, c, d, e] = leased.map(({ receipt }) => receipt)
    const rows = [
      { do: 'extend', receipt: a, duration: '2h' },
      { do: 'ack', receipt: a },
      { do: 'ack', receipt: a },
      { do: 'release', receipt: b, dead: true, reason: 'no such order' },
      { do: 'ack', receipt: c, again: { in: '1h' } },
      { do: 'extend', receipt: d, duration: '99h' },
      { do: 'release', receipt: d, dead: true, in: '1h' },
      { do: 'release', receipt: d, in: '1h' },
      { do: 'ack', receipt: 'nobody.x' },
      { do: 'keep', receipt: e },
      { do: 'extend', receipt: e },
      { do: 'ack' },
      'nonsense',
      null,
    ]
    expect(await answer(served, rows)).toEqual([
      'extended',
      'acked',
      'stale',
      'released',
      'acked',
      'invalid-option',
      'invalid-option',
      'released',
      'stale',
      'invalid-body',
      'invalid-body',
      'invalid-body',
      'invalid-body',
      'invalid-body',
    ])
    expect(await answer(served, [{ do: 'ack', receipt: e }])).toEqual(['acked'])
    expect(await answer(served, [])).toEqual([])
    const keyOf = (index: number): string => leased[index]!.key
    await eventually(async () => {
      const { items } = (await served.call('GET', '/v1/timers')).body as { items: { key: string }[] }
      expect(items.map(({ key }) => key).toSorted()).toEqual([keyOf(2), keyOf(3)].toSorted())
      const dead = (await served.call('GET', '/v1/dead')).body as { items: object[] }
      expect(dead.items).toMatchObject([{ key: keyOf(1), reason: 'no such order' }])
    })
  })

  it('is refused if it is not an array or has more than 1,000 rows', async () => {
    await using served = await TestServer.start()
    const rows = Array.from({ length: 1001 }, () => ({ do: 'ack', receipt: 'x' }))
    expect((await served.call('POST', '/v1/leases/batch', rows)).status).toBe(400)
    expect((await served.call('POST', '/v1/leases/batch', { do: 'ack', receipt: 'x' })).status).toBe(400)
    expect(await answer(served, rows.slice(1))).toHaveLength(1000)
  })

  it('gets the first answers again when it is repeated with the same Idempotency-Key', async () => {
    await using served = await TestServer.start()
    await served.call('PUT', '/v1/targets/remind', target)
    const rows = (await leaseAll(served, ['a', 'b'])).map(({ receipt }) => ({ do: 'ack', receipt }))
    const once = { 'idempotency-key': 'once' }
    expect(await answer(served, rows, once)).toEqual(['acked', 'acked'])
    expect(await answer(served, rows, once)).toEqual(['acked', 'acked'])
    expect(await answer(served, rows)).toEqual(['stale', 'stale'])
  })

  it('reaches the leases of another instance in one message', async () => {
    await using two = await startPair()
    await two.owner.call('PUT', '/v1/targets/remind', target)
    await two.other.call('PUT', '/v1/targets/remind', target)
    const theirs = await leaseAll(
      two.owner,
      Array.from({ length: 50 }, () => two.key()),
    )
    const before = await two.forwards('answered')
    const rows = [
      ...theirs.map(({ receipt }) => ({ do: 'extend', receipt, duration: '2h' })),
      { do: 'ack', receipt: 'nobody.x' },
    ]
    const extended = Array.from({ length: 50 }, () => 'extended')
    expect(await answer(two.other, rows)).toEqual([...extended, 'stale'])
    expect((await two.forwards('answered')) - before).toBe(1)
    const acks = theirs.map(({ receipt }, index) =>
      index === 7 ? { do: 'extend', receipt, duration: 0 } : { do: 'ack', receipt },
    )
    expect(await answer(two.other, acks)).toEqual(
      theirs.map((_, index) => (index === 7 ? 'invalid-option' : 'acked')),
    )
    expect((await two.forwards('answered')) - before).toBe(2)
    expect(await answer(two.other, rows.slice(0, 8))).toEqual([
      ...Array.from({ length: 7 }, () => 'stale'),
      'extended',
    ])
  })

  it('answers failed for the leases of an instance that cannot be reached, and applies the others', async () => {
    await using two = await startPair({ address: 'http://127.0.0.1:1' }, false)
    await two.setFar()
    await two.owner.call('PUT', '/v1/targets/remind', target)
    const [theirs] = await leaseAll(two.owner, [two.key()])
    const rows = [
      { do: 'ack', receipt: theirs!.receipt },
      { do: 'ack', receipt: 'nobody.x' },
    ]
    expect(await answer(two.other, rows)).toEqual(['owner-unreachable', 'stale'])
    expect(await answer(two.owner, rows)).toEqual(['acked', 'stale'])
  })
})

describe('the router of worker leases', () => {
  /** A router whose one peer replies as `reply` says. */
  function routerOf(reply: (ask: LeaseActionRequest) => Omit<PeerReply, 'id'>) {
    const asks: LeaseActionRequest[] = []
    const peers = {
      send: (_member: unknown, _deadline: number, ask: LeaseActionRequest) => {
        asks.push(ask)
        return Promise.resolve({ outcome: 'answered', reply: { id: '', ...reply(ask) } })
      },
    }
    const engine = {
      memberId: 'here',
      memberIds: ['here', 'there'],
      peerOf: (id: string) => (id === 'there' ? { id, address: '' } : undefined),
      hearMembers: () => Promise.resolve(),
      storeNow: () => 0,
      settings: { requestTimeoutMs: 1000 },
    }
    const timers = { engine, ack: () => Promise.resolve('stale') } as unknown as Timers
    const router = new LeaseRouter(peers as unknown as HttpPeers)
    const applyAll = (actions: readonly LeaseActionOn[]) => router.applyAll(timers, 'default', actions, {})
    return { asks, applyAll }
  }
  const acks = ['there.1', 'here.1', 'there.2', 'there.3'].map((receipt): LeaseActionOn => ({
    receipt,
    action: { type: 'ack', options: {} },
  }))

  it('sends the actions for one instance in one message', async () => {
    const { asks, applyAll } = routerOf(({ more = [] }) => ({
      outcome: 'acked',
      more: more.map(() => ({ problem: { name: 'LimitError', code: 'engine-busy', detail: 'busy' } })),
    }))
    expect(await applyAll(acks)).toMatchObject([
      { outcome: 'acked' },
      { outcome: 'stale' },
      { error: { code: 'engine-busy' } },
      { error: { code: 'engine-busy' } },
    ])
    expect(asks.map(({ receipt, more }) => [receipt, more?.map((each) => each.receipt)])).toEqual([
      ['there.1', ['there.2', 'there.3']],
    ])
  })

  it('sends the rest again to an older instance, which applies only the first of a message', async () => {
    const { asks, applyAll } = routerOf(() => ({ outcome: 'acked' }))
    expect(await applyAll(acks)).toEqual([
      { outcome: 'acked' },
      { outcome: 'stale' },
      { outcome: 'acked' },
      { outcome: 'acked' },
    ])
    expect(asks.map(({ receipt }) => receipt)).toEqual(['there.1', 'there.2', 'there.3'])
  })
})
