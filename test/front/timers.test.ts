import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { Dead, RetryAfter } from '../../src/delivery/index.js'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import { every } from '../../src/schedule/index.js'
import { openStore, type StoreUrl } from '../../src/store/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { until } from '../eventually.js'
import { during } from '../during.js'

const START = Date.UTC(2026, 0, 1)
const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function fresh(kind: string): StoreUrl {
  if (kind === 'memory') return 'memory:'
  const folder = mkdtempSync(path.join(tmpdir(), 'carillon-front-'))
  folders.push(folder)
  return `file:${folder}/timers`
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Lets real work (a disk) and virtual time go on until a promise settles. */
const settled = <T>(clock: VirtualClock, promise: Promise<T>, stepMs = 0): Promise<T> =>
  during(clock, promise, stepMs, () => sleep(1))

/** Advances in steps, leaving a disk the time to answer. */
async function advance(clock: VirtualClock, ms: number): Promise<void> {
  for (let step = 0; step < ms; step += 250) {
    await clock.advance(Math.min(250, ms - step))
    await sleep(2)
  }
}

describe.each(['memory', 'file'])('openTimers on %s', (store) => {
  const order = timer<{ orderId: string }>('order', { retry: { attempts: 3, backoff: '1s..4s' } })
  const tick = timer('tick')

  async function open(clock: VirtualClock, url = fresh(store)): Promise<Timers> {
    return await settled(clock, openTimers({ store: url, clock, random: seeded(7) }))
  }

  it('sets, gets, moves, cancels and fires', async () => {
    const clock = new VirtualClock({ start: START })
    const timers = await open(clock)
    const fired: string[] = []
    timers.handle(order, (firing) => {
      fired.push(`${firing.key} ${firing.payload.orderId} ${clock.now() - START}`)
    })
    const set = await settled(clock, timers.set(order, 'a', { in: '5s', payload: { orderId: '7' } }))
    expect(set).toMatchObject({ outcome: 'set', key: 'a', dueAt: START + 5000 })
    expect(await settled(clock, timers.get(order, 'a'))).toMatchObject({
      key: 'a',
      state: 'waiting',
      dueAt: START + 5000,
      payload: { orderId: '7' },
      handle: set.handle,
    })
    await settled(clock, timers.start())
    expect(await settled(clock, timers.move(order, 'a', { in: '7s' }))).toBe('moved')
    await settled(
      clock,
      timers.setMany(order, [
        { key: 'b', in: '3s', payload: { orderId: '8' } },
        { key: 'c', in: '4s', payload: { orderId: '9' } },
      ]),
    )
    expect(await settled(clock, timers.cancel(order, 'c'))).toBe('cancelled')
    expect(await settled(clock, timers.cancel(order, 'c'))).toBe('unknown')
    await advance(clock, 10_000)
    expect(fired).toEqual(['b 8 3000', 'a 7 7000'])
    expect(await settled(clock, timers.get(order, 'a'))).toMatchObject({ state: 'settled' })
    await settled(clock, timers.stop(), 5)
    await settled(clock, timers.stop(), 5)
  })

  it('does not change a later timer with the same key by an old handle', async () => {
    const clock = new VirtualClock({ start: START })
    const timers = await open(clock)
    const first = await settled(clock, timers.set(tick, 'x', { in: '5s' }))
    const second = await settled(clock, timers.set(tick, 'x', { in: '6s' }))
    expect(first.handle).not.toBe(second.handle)
    expect(await settled(clock, timers.cancel(first.handle))).toBe('unknown')
    expect(await settled(clock, timers.move(first.handle, { in: '1m' }))).toBe('unknown')
    expect(await settled(clock, timers.get(first.handle))).toBe(undefined)
    expect(await settled(clock, timers.move(second.handle, { in: '1m' }))).toBe('moved')
    expect(await settled(clock, timers.cancel(second.handle))).toBe('cancelled')
    await settled(clock, timers.stop(), 5)
  })

  it('retries by the policy, keeps dead letters, and repeats on a schedule', async () => {
    const clock = new VirtualClock({ start: START })
    const timers = await open(clock)
    const attempts: Record<string, number[]> = { fails: [], dies: [], waits: [] }
    timers.handle(order, (firing) => {
      attempts[firing.key]!.push(firing.attempt)
      if (firing.key === 'dies') throw new Dead('hopeless')
      if (firing.key === 'waits' && firing.attempt === 1) throw new RetryAfter(2500)
      if (firing.key === 'fails') throw new Error('no luck')
    })
    const ticks: number[] = []
    timers.handle(tick, (firing) => {
      ticks.push(firing.dueAt - START)
    })
    await settled(clock, timers.start())
    const payload = { orderId: '1' }
    await settled(
      clock,
      Promise.all(['fails', 'dies', 'waits'].map((key) => timers.set(order, key, { in: '1s', payload }))),
    )
    await settled(clock, timers.set(tick, 't', { on: every('10s') }))
    await advance(clock, 35_000)
    expect(attempts).toEqual({ fails: [1, 2, 3], dies: [1], waits: [1, 2] })
    expect(ticks).toEqual([10_000, 20_000, 30_000])
    await settled(clock, timers.stop(), 5)
  })

  it('keeps timers of a kind without a handler waiting', async () => {
    const clock = new VirtualClock({ start: START })
    const timers = await open(clock)
    await settled(clock, timers.start())
    await settled(clock, timers.set(tick, 'w', { in: '1s' }))
    await advance(clock, 8000)
    const fired: string[] = []
    timers.handle(tick, (firing) => {
      fired.push(firing.key)
    })
    // A write may be in flight, and the disk works in real time.
    for (let step = 0; step < 100 && fired.length === 0; step++) await advance(clock, 100)
    expect(fired).toEqual(['w'])
    await settled(clock, timers.stop(), 5)
  })
})

describe('timers in a file store', () => {
  it('survive a restart and fire', async () => {
    const clock = new VirtualClock({ start: START })
    const url = fresh('file')
    const kind = timer<number>('n')
    const first = await settled(clock, openTimers({ store: url, clock }))
    await settled(clock, first.set(kind, 'k', { in: '1m', payload: 42 }))
    await settled(clock, first.stop(), 5)
    const second = await settled(clock, openTimers({ store: url, clock }))
    const got: number[] = []
    second.handle(kind, (firing) => {
      got.push(firing.payload)
    })
    await settled(clock, second.start())
    await advance(clock, 59_000)
    expect(got).toEqual([])
    // The disk works in real time, and a busy one takes longer than the pauses of `advance`.
    await until('it fires', async () => {
      await advance(clock, 1000)
      return got.length > 0
    })
    expect(got).toEqual([42])
    await settled(clock, second.stop(), 5)
    const store = await openStore(url)
    expect(await store.countRows()).toBe(0)
    await store.stop()
  })
})
