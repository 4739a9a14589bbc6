import { describe, expect, it } from 'vitest'
import type { LeasedFiring } from '../../src/delivery/index.js'
import type { TimerEngine } from '../../src/engine/index.js'
import type { Timers } from '../../src/front/index.js'
import { LEASE_ASK_AGAIN_MS, UNCONFIRMED_LEASE_MS } from '../../src/server/defaults.js'
import type { HttpPeers } from '../../src/server/peers/http-peers.js'
import { LeaseFinder } from '../../src/server/peers/lease-finder.js'
import { LeaseTaker } from '../../src/server/peers/lease-taker.js'
import type { LeaseRouter } from '../../src/server/peers/lease-router.js'
import type { TakeRequest } from '../../src/server/peers/peer-message.js'
import { VirtualClock } from '../../src/time/index.js'

/** An instance without firings of its own, and one other instance that has `there` firings of kind `work`. */
function rig(there: number) {
  const clock = new VirtualClock()
  const state = { there, messages: 0, waits: 0, confirmed: 0, isConfirmed: true }
  const peers = {
    send: (_member: unknown, _deadline: number, ask: TakeRequest) => {
      state.messages++
      const count = Math.min(ask.max, state.there)
      state.there -= count
      const firings = Array.from(
        { length: count },
        () => ({ kind: 'work', receipt: 'b.1', leaseUntil: 60_000 }) as LeasedFiring,
      )
      return Promise.resolve({ outcome: 'answered', reply: { id: '', firings } })
    },
  } as unknown as HttpPeers
  const engine = {
    memberId: 'a',
    memberIds: ['a', 'b'],
    settings: { strategy: 'preload', requestTimeoutMs: 1000 },
    storeNow: () => 0,
    peerOf: (id: string) => ({ id, address: 'http://b' }),
  }
  const lease = (_kinds: unknown, { wait, signal }: { wait: number; signal: AbortSignal }) =>
    new Promise<readonly LeasedFiring[]>((resolve) => {
      if (wait === 0 || signal.aborted) return resolve([])
      state.waits++
      clock.wakeAfter(wait, () => resolve([]))
      signal.addEventListener('abort', () => resolve([]))
    })
  const router = {
    applyAll: (_timers: unknown, _namespace: string, actions: readonly unknown[]) => {
      if (state.isConfirmed) state.confirmed += actions.length
      return Promise.resolve(actions.map(() => ({ outcome: state.isConfirmed ? 'extended' : 'stale' })))
    },
  } as unknown as LeaseRouter
  const finder = new LeaseFinder(peers, router, clock)
  const { signal } = new AbortController()
  const ask = (max: number, waitMs: number) =>
    finder.lease({ engine, lease } as unknown as Timers, {
      namespace: 'default',
      kinds: ['work'],
      max,
      waitMs,
      duration: undefined,
      signal,
    })
  const report = () => finder.reportDue({ type: 'due', from: 'b', namespace: 'default', kind: 'work' })
  return { clock, state, ask, report }
}

describe('a lease finder', () => {
  it('wakes the next waiting worker as long as another instance has firings', async () => {
    const { state, ask, report } = rig(0)
    const workers = [ask(1, 60_000), ask(1, 60_000), ask(1, 60_000)]
    while (state.waits < 3) await Promise.resolve()
    state.there = 3
    // One report, and no time passes.
    report()
    expect((await Promise.all(workers)).flat()).toHaveLength(3)
  })

  it('asks an instance without firings again only after its report, or when the report may be lost', async () => {
    const { clock, state, ask, report } = rig(0)
    for (let n = 0; n < 5; n++) expect(await ask(1, 0)).toEqual([])
    expect(state.messages).toBe(1)
    await clock.advance(LEASE_ASK_AGAIN_MS)
    expect(await ask(1, 0)).toEqual([])
    expect(state.messages).toBe(2)
    state.there = 1
    report()
    expect(await ask(1, 0)).toHaveLength(1)
    expect(state.messages).toBe(3)
  })

  it('finds a firing whose report was lost while the worker waits', async () => {
    const { clock, state, ask } = rig(0)
    const worker = ask(1, 60_000)
    while (state.waits < 1) await Promise.resolve()
    state.there = 1
    await clock.advance(LEASE_ASK_AGAIN_MS)
    expect(await worker).toHaveLength(1)
  })

  it('confirms the leases of other instances, and leaves out those that have ended', async () => {
    const { state, ask } = rig(3)
    expect(await ask(2, 0)).toHaveLength(2)
    expect(state.confirmed).toBe(2)
    state.isConfirmed = false
    expect(await ask(1, 0)).toEqual([])
  })

  it('leases many firings in several messages', async () => {
    const { state, ask } = rig(100)
    expect(await ask(90, 0)).toHaveLength(90)
    expect(state.messages).toBe(3)
    expect(state.there).toBe(10)
  })
})

describe('a lease taker', () => {
  it('makes a long lease short until it is confirmed, and leaves a short one as it is', async () => {
    const extended: unknown[] = []
    const given = [
      { receipt: 'b.1', leaseUntil: 3_600_000 },
      { receipt: 'b.2', leaseUntil: 5000 },
    ]
    const timers = {
      lease: () => Promise.resolve(given),
      extend: (receipt: string, duration: number) => Promise.resolve(extended.push([receipt, duration])),
    } as unknown as Timers
    const engine = { storeNow: () => 0 } as unknown as TimerEngine
    const taker = new LeaseTaker({} as HttpPeers, engine, new VirtualClock())
    const ask: TakeRequest = { type: 'take', from: 'a', namespace: 'default', kinds: ['work'], max: 2 }
    expect(await taker.take(ask, timers)).toEqual(given)
    expect(extended).toEqual([['b.1', UNCONFIRMED_LEASE_MS]])
  })
})
