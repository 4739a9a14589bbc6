import { describe, expect, it, vi } from 'vitest'
import type { PeerAnswer, PeerRequest, Peers } from '../../src/engine/index.js'
import { StoreError } from '../../src/error/index.js'
import { shardOf } from '../../src/timer/index.js'
import { Rig } from './rig.js'

const SHARDS = 8
const settings = {
  acquireMs: 100,
  heartbeatMs: 100,
  leaseMs: 2000,
  leaseMarginMs: 200,
  requestTimeoutMs: 3000,
}

/** Two engines that share eight shards. `two` asks `one` directly, with a delay or the answer that a test chooses. */
async function pair(
  given: {
    answer?: (request: PeerRequest) => PeerAnswer | undefined
    afterMs?: number | ((request: PeerRequest) => number)
  } = {},
) {
  const one = new Rig({ settings, shardCount: SHARDS, memberId: 'one', peers: addressed('there') })
  const asks: PeerRequest[] = []
  const peers: Peers = {
    address: 'here',
    async ask(member, ask) {
      expect(member).toEqual({ id: 'one', address: 'there' })
      asks.push(ask)
      const { afterMs } = given
      if (afterMs !== undefined) {
        const ms = typeof afterMs === 'number' ? afterMs : afterMs(ask)
        await new Promise<void>((resolve) => void one.clock.wakeAfter(ms, resolve))
      }
      const answer = given.answer?.(ask)
      if (answer !== undefined) return answer
      const answers = await one.engine.submitFor(ask)
      return answers === undefined ? { outcome: 'not-done' } : { outcome: 'answered', answers }
    },
  }
  const two = new Rig({ settings, rig: one, memberId: 'two', peers })
  await one.settled(Promise.all([one.engine.start(), two.engine.start()]))
  await one.clock.advance(1000)
  const owned = new Set(one.engine.shards.map(({ shard }) => shard))
  expect([owned.size > 0, owned.size < SHARDS]).toEqual([true, true])
  const keys = Array.from({ length: 100 }, (_, index) => `k${index}`).filter((key) =>
    owned.has(shardOf({ namespace: 'n', kind: 'k', key }, SHARDS)),
  )
  return { one, two, asks, keys, key: keys[0]! }
}

function addressed(address: string): Peers {
  return { address, ask: () => Promise.reject(new Error('it is not to ask')) }
}

describe('an engine that can reach the owners of shards directly', () => {
  it('sends operations that need an answer to the owner, with a deadline, but no plain sets', async () => {
    const { two, asks, key } = await pair()
    const name = { namespace: 'n', kind: 'k', key }
    expect(await two.submit(two.set(key, 60_000))).toEqual([{ outcome: 'appended' }])
    expect(asks).toEqual([])
    const [moved] = await two.submit(two.move(key, 90_000))
    expect(moved).toEqual({ outcome: 'moved', revision: expect.any(Number) as number })
    const current = expect.objectContaining({ revision: (moved as { revision: number }).revision }) as object
    expect(await two.submit(two.set(key, 1, { ifAbsent: true }))).toEqual([{ outcome: 'conflict', current }])
    expect(await two.submit(two.cancel(key))).toEqual([{ outcome: 'cancelled' }])
    expect(asks.map(({ operations }) => operations[0]!.type)).toEqual(['move', 'set', 'cancel'])
    expect(asks[0]).toMatchObject({ shard: shardOf(name, SHARDS), operations: [name] })
    expect(Math.abs(asks[2]!.deadline - two.clock.now() - settings.requestTimeoutMs)).toBeLessThan(100)
  })

  it('keeps the order of concurrent calls on one name, whether direct or through the inbox', async () => {
    const { two, key } = await pair({ afterMs: 50 })
    const first = two.engine.submit([two.set(key, 60_000)])
    const second = two.engine.submit([two.cancel(key)])
    const third = two.engine.submit([two.set(key, 70_000)])
    const fourth = two.engine.submit([two.move(key, 80_000)])
    const answers = await two.settled(Promise.all([first, second, third, fourth]))
    expect(answers.map(([answer]) => answer!.outcome)).toEqual(['appended', 'cancelled', 'appended', 'moved'])
    const [row] = await two.store.find([{ namespace: 'n', kind: 'k', key }])
    expect(row?.dueAt).toBe((two.move(key, 80_000) as { dueAt: number }).dueAt)
  })

  it('keeps the order of calls even if a message to the owner takes longer than the next one', async () => {
    const { two, key } = await pair({
      afterMs: ({ operations }) => (operations[0]!.type === 'cancel' ? 300 : 10),
    })
    await two.submit(two.set(key, 60_000))
    const calls = [two.cancel(key), two.move(key, 80_000), two.set(key, 70_000)]
    const answers = await two.settled(Promise.all(calls.map((call) => two.engine.submit([call]))))
    expect(answers.map(([answer]) => answer!.outcome)).toEqual(['cancelled', 'unknown', 'appended'])
    await two.clock.advance(1000)
    const [row] = await two.store.find([{ namespace: 'n', kind: 'k', key }])
    expect(row?.dueAt).toBe((two.set(key, 70_000) as { dueAt: number }).dueAt)
  })

  it('uses the inbox if the owner was not reached, or has lost the shard meanwhile', async () => {
    for (const answer of [
      { outcome: 'not-done' },
      { outcome: 'answered', answers: [{ outcome: 'lost' }] },
    ] as const) {
      const { two, asks, key } = await pair({ answer: () => answer })
      await two.submit(two.set(key, 60_000))
      expect(await two.submit(two.cancel(key))).toEqual([{ outcome: 'cancelled' }])
      expect(asks).toHaveLength(1)
    }
  })

  it('answers owner-unreachable and does not retry if the operation may have been applied', async () => {
    const { two, asks, key } = await pair({ answer: () => ({ outcome: 'unsure' }) })
    await two.submit(two.set(key, 60_000))
    const [answer] = await two.submit(two.cancel(key))
    expect(answer).toMatchObject({ outcome: 'failed', error: { code: 'owner-unreachable' } })
    await two.clock.advance(500)
    expect(asks).toHaveLength(1)
    expect(await two.store.find([{ namespace: 'n', kind: 'k', key }])).toMatchObject([{ key }])
  })

  it('applies operations of others only on its own shards, and only before their deadline', async () => {
    const { one, two, key } = await pair()
    await two.submit(two.set(key, 60_000))
    const shard = shardOf({ namespace: 'n', kind: 'k', key }, SHARDS)
    const ask = { shard, deadline: one.engine.storeNow() + 1000, operations: [one.cancel(key)] }
    const late = { ...ask, deadline: one.engine.storeNow() }
    const elsewhere = { ...ask, shard: one.engine.shards.find((each) => each.shard !== shard)?.shard ?? -1 }
    const others = two.engine.submitFor(ask)
    expect(
      await one.settled(Promise.all([one.engine.submitFor(late), one.engine.submitFor(elsewhere), others])),
    ).toEqual([undefined, undefined, undefined])
    expect(await one.settled(one.engine.submitFor(ask))).toEqual([{ outcome: 'cancelled' }])
  })

  it('withdraws operations of others at their deadline if the store has not taken them by then', async () => {
    const { one, two, key } = await pair()
    await two.submit(two.set(key, 60_000))
    const shard = shardOf({ namespace: 'n', kind: 'k', key }, SHARDS)
    const writing = vi
      .spyOn(one.store, 'write')
      .mockRejectedValue(new StoreError('store-unavailable', 'the store is away'))
    const ask = { shard, deadline: one.engine.storeNow() + 500, operations: [one.cancel(key)] }
    const [answer] = (await one.settled(one.engine.submitFor(ask)))!
    expect(answer).toMatchObject({ outcome: 'failed', error: { code: 'not-done' } })
    writing.mockRestore()
    await one.clock.advance(1000)
    expect(await one.store.find([{ namespace: 'n', kind: 'k', key }])).toMatchObject([{ key }])
  })
})
