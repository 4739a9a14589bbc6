import { describe, expect, it } from 'vitest'
import { lease, type LeasedFiring } from '../../src/delivery/index.js'
import { StoreError } from '../../src/error/index.js'
import { openTimers, timer, type Timers } from '../../src/front/index.js'
import { every } from '../../src/schedule/index.js'
import { MemoryStore, type Store } from '../../src/store/index.js'
import { testTimers } from '../../src/testing/index.js'
import { VirtualClock } from '../../src/time/index.js'
import { during } from '../during.js'

const START = Date.UTC(2026, 0, 1)
const work = timer<{ n: number }>('work', { retry: { attempts: 3, backoff: '10s' } })
const other = timer<{ n: number }>('other')

const keysOf = (firings: readonly LeasedFiring[]) => firings.map(({ key }) => key)

/** Whether a promise has been answered by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol('open')
  const soon = new Promise((resolve) => {
    setImmediate(resolve, open)
  })
  return (await Promise.race([promise, soon])) !== open
}

describe('a worker', () => {
  it('leases each due firing once and acknowledges it', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    await timers.set(work, 'a', { in: '1s', payload: { n: 7 }, tags: ['red'] })
    expect(await timers.lease(work)).toEqual([])
    await timers.advance('3s')
    const [firing, ...none] = await timers.lease(work, { max: 10 })
    expect(none).toEqual([])
    expect(firing).toMatchObject({
      kind: 'work',
      key: 'a',
      payload: { n: 7 },
      tags: ['red'],
      attempt: 1,
      occurrence: 0,
      dueAt: START + 1000,
      firedAt: START + 3000,
      leaseUntil: START + 33_000,
    })
    expect(await timers.lease(work)).toEqual([])
    expect((await timers.get(firing!.handle))?.state).toBe('firing')
    expect(await timers.ack(firing!.receipt)).toBe('acked')
    expect(await timers.ack(firing!.receipt)).toBe('stale')
    await timers.advance('1m')
    expect(await timers.get(work, 'a')).toMatchObject({ state: 'settled' })
    expect((await timers.stats()).store.settled).toBe(1)
    expect(await timers.lease(work)).toEqual([])
  })

  it('that waits is answered as soon as a timer is due', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    await timers.setMany(work, [
      { key: 'a', in: '5s', payload: { n: 1 } },
      { key: 'b', in: '5s', payload: { n: 2 } },
      { key: 'c', in: '6s', payload: { n: 3 } },
    ])
    const waiting = timers.lease(work, { max: 10, wait: '20s' })
    await timers.advance('4999ms')
    expect(await isSettled(waiting)).toBe(false)
    await timers.advance('1ms')
    // What is due at the same moment comes with it, what is due later does not.
    expect(await isSettled(waiting)).toBe(true)
    expect(keysOf(await waiting).toSorted()).toEqual(['a', 'b'])
    const late = timers.lease(work, { wait: '500ms' })
    await timers.advance('499ms')
    expect(await isSettled(late)).toBe(false)
    await timers.advance('1ms')
    expect(await late).toEqual([])
    await timers.advance('1s')
    expect(keysOf(await timers.lease(work, { max: 10 }))).toEqual(['c'])
  })

  it('gets at most `max` firings over all kinds, and the rest waits for the next worker', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    timers.deliver(other, lease())
    const [first, second] = [
      timers.lease([work, other], { max: 3, wait: '1h' }),
      timers.lease([other], { max: 100, wait: '1h' }),
    ]
    for (const kind of [work, other]) {
      await timers.setMany(
        kind,
        Array.from({ length: 5 }, (_, n) => ({ key: `${kind.name}${n}`, in: '1s', payload: { n } })),
      )
    }
    await timers.advance('1s')
    const seen = [...(await first), ...(await second)]
    expect((await first).length).toBe(3)
    const rest = await timers.lease(['work', 'other', 'work'], { max: 100 })
    expect([...keysOf(seen), ...keysOf(rest)].toSorted()).toEqual(
      ['other', 'work'].flatMap((kind) => [0, 1, 2, 3, 4].map((n) => `${kind}${n}`)),
    )
    expect(await timers.lease([work, other], { max: 100 })).toEqual([])
  })

  it('that asks for more kinds than firings leaves the other timers unstarted', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    timers.deliver(other, lease())
    const waiting = timers.lease([work, other], { max: 3, wait: '1h' })
    for (const kind of [work, other]) {
      await timers.setMany(
        kind,
        Array.from({ length: 5 }, (_, n) => ({ key: `${kind.name}${n}`, in: '1s', payload: { n } })),
      )
    }
    await timers.advance('1s')
    expect(await waiting).toHaveLength(3)
    const rest = await timers.lease([work, other], { max: 100 })
    expect(rest.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1, 1])
  })

  it('that has disconnected gets no firing', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    const gone = new AbortController()
    const waiting = timers.lease(work, { wait: '1h', signal: gone.signal })
    await timers.set(work, 'a', { in: '1s', payload: { n: 1 } })
    gone.abort()
    expect(await waiting).toEqual([])
    await timers.advance('1s')
    expect(await timers.lease(work, { wait: '1s', signal: gone.signal })).toHaveLength(1)
  })

  it('whose lease runs out has failed its attempt, and its receipt has no effect', async () => {
    const reasons: string[] = []
    await using timers = await testTimers({
      onEvent: (event) => {
        if (event.type === 'failed') reasons.push(`${event.firing.attempt} ${String(event.error)}`)
      },
    })
    timers.deliver(work, lease({ duration: '30s' }))
    await timers.set(work, 'a', { in: 0, payload: { n: 1 } })
    await timers.advance(0)
    const receipts: string[] = []
    for (const attempt of [1, 2, 3]) {
      const waiting = timers.lease(work, { wait: '1m' })
      await timers.advance('11s')
      const [firing] = await waiting
      expect(firing).toMatchObject({ key: 'a', attempt })
      receipts.push(firing!.receipt)
      await timers.advance('18900ms')
      expect(await timers.dead()).toMatchObject({ items: [] })
      await timers.advance('30s')
    }
    for (const receipt of receipts) {
      expect(await timers.ack(receipt)).toBe('stale')
      expect(await timers.extend(receipt, '1m')).toBe('stale')
      expect(await timers.release(receipt)).toBe('stale')
    }
    expect(reasons).toHaveLength(3)
    expect(reasons[0]).toContain('the lease ended before the worker answered')
    const { items } = await timers.dead()
    expect(items).toMatchObject([{ key: 'a', attempts: 3 }])
    expect(new Set(receipts).size).toBe(3)
  })

  it('can extend its lease', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease({ duration: '30s' }))
    await timers.set(work, 'a', { in: 0, payload: { n: 1 } })
    await timers.advance(0)
    const [firing] = await timers.lease(work, { duration: '5s' })
    expect(firing!.leaseUntil).toBe(START + 5000)
    for (let n = 0; n < 10; n++) {
      await timers.advance('4900ms')
      expect(await timers.extend(firing!.receipt, '5s')).toBe('extended')
    }
    expect(await timers.ack(firing!.receipt)).toBe('acked')
    await timers.advance(0)
    const { items } = await timers.history({ kind: work })
    expect(items.filter(({ event }) => event === 'attempt')).toMatchObject([
      { attempt: 1, outcome: 'done', durationMs: 49_000 },
    ])
  })

  it('can release a firing with a delay or as dead, or fire it again', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    await timers.setMany(
      work,
      ['again', 'dead', 'later', 'policy'].map((key) => ({ key, in: 0, payload: { n: 1 } })),
    )
    await timers.advance(0)
    const receipts = new Map(
      (await timers.lease(work, { max: 4 })).map(({ key, receipt }) => [key, receipt] as const),
    )
    expect(await timers.ack(receipts.get('again')!, { again: { in: '1h' } })).toBe('acked')
    expect(await timers.release(receipts.get('dead')!, { dead: true, reason: 'no such order' })).toBe(
      'released',
    )
    expect(await timers.release(receipts.get('later')!, { in: '2h', reason: 'busy' })).toBe('released')
    expect(await timers.release(receipts.get('policy')!)).toBe('released')
    await timers.advance('10s')
    expect(await timers.lease(work, { max: 9 })).toMatchObject([{ key: 'policy', attempt: 2 }])
    await timers.advance('1h')
    expect(await timers.lease(work, { max: 9 })).toMatchObject([
      { key: 'policy', attempt: 3 },
      { key: 'again', attempt: 1, occurrence: 1 },
    ])
    await timers.advance('1h')
    expect(keysOf(await timers.lease(work, { max: 9 }))).toContain('later')
    const { items } = await timers.dead()
    expect(items.find(({ key }) => key === 'dead')).toMatchObject({ reason: 'no such order', attempts: 1 })
  })

  it('gets the next occurrence of a recurring timer after it has acknowledged the last', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    await timers.set(work, 'tick', { on: every('1m'), payload: { n: 1 } })
    for (const occurrence of [0, 1, 2]) {
      await timers.advance('1m')
      const [firing, second] = await timers.lease(work, { max: 5 })
      expect(second).toBeUndefined()
      expect(firing).toMatchObject({ key: 'tick', occurrence, attempt: 1 })
      await timers.ack(firing!.receipt)
      await timers.advance(0)
    }
  })
})

describe('a timer that waits for a worker', () => {
  it('can be moved, cancelled and replaced until a worker has leased it', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    await timers.setMany(
      work,
      ['cancelled', 'moved', 'replaced', 'taken'].map((key) => ({ key, in: 0, payload: { n: 1 } })),
    )
    await timers.advance('1m')
    expect(await timers.cancel(work, 'cancelled')).toBe('cancelled')
    expect(await timers.move(work, 'moved', { in: '1h' })).toBe('moved')
    await timers.set(work, 'replaced', { in: 0, payload: { n: 2 } })
    await timers.advance(0)
    const given = await timers.lease(work, { max: 9 })
    expect(given.map(({ key, payload }) => `${key} ${payload.n}`).toSorted()).toEqual([
      'replaced 2',
      'taken 1',
    ])
    const { receipt } = given.find(({ key }) => key === 'taken')!
    expect(await timers.cancel(work, 'taken')).toBe('firing')
    await timers.set(work, 'taken', { in: '2h', payload: { n: 3 } })
    // The attempt finishes; what was set meanwhile stands.
    expect(await timers.ack(receipt)).toBe('acked')
    await timers.advance('1s')
    expect(await timers.get(work, 'taken')).toMatchObject({ state: 'waiting', payload: { n: 3 } })
  })

  it('waits while its kind is paused, even if a worker asks for it', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease())
    await timers.pause(work)
    await timers.set(work, 'a', { in: 0, payload: { n: 1 } })
    const waiting = timers.lease(work, { wait: '1h' })
    await timers.advance('1m')
    expect(await isSettled(waiting)).toBe(false)
    await timers.resume(work)
    expect(keysOf(await waiting)).toEqual(['a'])
  })

  it('waits while workers have as many firings as `concurrency` allows', async () => {
    await using timers = await testTimers()
    timers.deliver(work, lease({ concurrency: 2 }))
    await timers.setMany(
      work,
      Array.from({ length: 5 }, (_, n) => ({ key: `k${n}`, in: 0, payload: { n } })),
    )
    await timers.advance(0)
    const first = await timers.lease(work, { max: 5 })
    expect(first).toHaveLength(2)
    const waiting = timers.lease(work, { max: 5, wait: '10s' })
    await timers.advance('1s')
    expect(await isSettled(waiting)).toBe(false)
    await timers.ack(first[0]!.receipt)
    expect(await waiting).toHaveLength(1)
  })

  it('is not leased for invalid requests, and the errors say why', async () => {
    await using timers = await testTimers()
    timers.handle(other, () => undefined)
    timers.deliver(work, lease())
    const refusals: [Promise<unknown>, string][] = [
      [timers.lease(other), 'not-leased'],
      [timers.lease('nobody'), 'unknown-kind'],
      [timers.lease([]), 'invalid-option'],
      [timers.lease(work, { max: 0 }), 'invalid-option'],
      [timers.lease(work, { max: 1001 }), 'invalid-option'],
      [timers.lease(work, { wait: '2h' }), 'invalid-option'],
      [timers.lease(work, { duration: '13h' }), 'invalid-option'],
      [timers.lease(work, { duration: 0 }), 'invalid-option'],
      [timers.lease(work, { until: 3 } as object), 'unknown-option'],
      [timers.ack(7 as unknown as string), 'invalid-receipt'],
      [timers.extend('x', '13h'), 'invalid-option'],
      [timers.release('x', { dead: true, in: '1s' }), 'invalid-option'],
      [timers.release('x', { reason: 'x'.repeat(1001) }), 'invalid-option'],
    ]
    for (const [call, code] of refusals) await expect(call).rejects.toMatchObject({ code })
    expect(await timers.ack('made.up')).toBe('stale')
    expect(() => lease({ concurrency: 0 })).toThrow(/concurrency/)
    expect(() => lease({ duration: '2d' })).toThrow(/12 h/)
  })
})

describe.each(['preload', 'lookahead'] as const)('with %s', (strategy) => {
  const SHARDS = 8

  async function opened(store: Store, clock: VirtualClock): Promise<Timers> {
    const timers = await openTimers({ store, clock, engine: { strategy } })
    timers.deliver(work, lease({ duration: '20s' }))
    await during(clock, timers.start(), 50)
    return timers
  }

  it('goes to one of several workers of an instance, whatever its shard', async () => {
    const clock = new VirtualClock({ start: START })
    const timers = await opened(new MemoryStore({ clock, shardCount: SHARDS }), clock)
    const rows = Array.from({ length: 2000 }, (_, n) => ({ key: `k${n}`, in: n % 50, payload: { n } }))
    await during(clock, timers.setMany(work, rows), 50)
    const seen: string[] = []
    const day = { isOver: false }
    const workers = Array.from({ length: 7 }, async () => {
      while (!day.isOver) {
        for (const { key, receipt } of await timers.lease(work, { max: 13, wait: '1s' })) {
          seen.push(key)
          expect(await timers.ack(receipt)).toBe('acked')
        }
      }
    })
    await clock.advance('10s')
    day.isOver = true
    await during(clock, Promise.all(workers), 100)
    expect(seen.toSorted()).toEqual(rows.map(({ key }) => key).toSorted())
    expect((await timers.stats()).counts).toMatchObject({ fired: 2000, done: 2000 })
    await during(clock, timers.stop(), 50)
  })

  it('keeps its lease while its row is carried, and is carried itself while it waits', async () => {
    const clock = new VirtualClock({ start: START })
    const timers = await opened(new MemoryStore({ clock }), clock)
    await during(
      clock,
      timers.setMany(
        work,
        ['taken', 'waits'].map((key) => ({ key, in: 0, payload: { n: 1 } })),
      ),
      50,
    )
    await clock.advance('1s')
    const [taken] = await timers.lease(work)
    // An owner carries what is unfinished after five seconds.
    await clock.advance('18s')
    expect(await timers.ack(taken!.receipt)).toBe('acked')
    await clock.advance('1m')
    const [waits] = await timers.lease(work)
    expect(waits).toMatchObject({ attempt: 1 })
    expect([taken!.key, waits!.key].toSorted()).toEqual(['taken', 'waits'])
    await timers.ack(waits!.receipt)
    await during(clock, timers.stop(), 50)
    expect(timers.engine.stats().counts).toMatchObject({ done: 2 })
  })

  it('goes to the next instance after a stop, which answers waiting workers and lets leases end', async () => {
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock })
    const timers = await opened(store, clock)
    const idle = timers.lease(work, { wait: '1h' })
    await during(
      clock,
      timers.setMany(
        work,
        ['acked', 'never'].map((key) => ({ key, in: 0, payload: { n: 1 } })),
      ),
      50,
    )
    await clock.advance('1s')
    const [first] = await idle
    const [second] = await timers.lease(work)
    const waiting = timers.lease(work, { wait: '1h' })
    const stopping = timers.stop()
    expect(await waiting).toEqual([])
    await clock.advance('1s')
    expect(await timers.ack(first!.receipt)).toBe('acked')
    await during(clock, stopping, 50)
    await expect(timers.lease(work)).rejects.toMatchObject({ code: 'stopped' })
    await expect(timers.ack(second!.receipt)).rejects.toMatchObject({ code: 'stopped' })

    const next = await opened(store, clock)
    await clock.advance('20s')
    expect(await next.ack(second!.receipt)).toBe('stale')
    expect(await next.lease(work, { max: 9 })).toMatchObject([{ key: second!.key, attempt: 2 }])
    await during(clock, next.stop(), 50)
  })

  it('has no valid receipt any more once the lease of its lost shard is over', async () => {
    const clock = new VirtualClock({ start: START })
    const store = new MemoryStore({ clock })
    const line = { isCut: false }
    const timers = await opened(lineTo(store, line), clock)
    await during(clock, timers.set(work, 'a', { in: 0, payload: { n: 1 } }), 50)
    await clock.advance('1s')
    const [firing] = await timers.lease(work, { duration: '1h' })
    line.isCut = true
    const next = await opened(store, clock)
    expect(await timers.extend(firing!.receipt, '1h')).toBe('extended')
    await clock.advance('20s')
    // It has not heard of its loss, but knows that its time is over.
    expect(await timers.extend(firing!.receipt, '1h')).toBe('stale')
    expect(await timers.ack(firing!.receipt)).toBe('stale')
    line.isCut = false
    await clock.advance('20s')
    expect(await timers.ack(firing!.receipt)).toBe('stale')
    expect(await next.ack(firing!.receipt)).toBe('stale')
    // Either may own it by now.
    const given = await Promise.all([timers, next].map((each) => each.lease(work)))
    expect(given.flat()).toMatchObject([{ key: 'a', attempt: 2, id: firing!.id }])
    await during(clock, Promise.all([timers.stop(), next.stop()]), 50)
  })
})

it('leases each timer once to workers of several instances with the strategy claim, even without a wait', async () => {
  const clock = new VirtualClock({ start: START })
  const store = new MemoryStore({ clock, strategy: 'claim', shardCount: 8 })
  const opened = async (): Promise<Timers> => {
    const timers = await openTimers({ store: store.connect(), clock, engine: { strategy: 'claim' } })
    timers.deliver(work, lease({ duration: '20s' }))
    await during(clock, timers.start(), 50)
    return timers
  }
  const instances = [await opened(), await opened()]
  const rows = Array.from({ length: 500 }, (_, n) => ({ key: `k${n}`, in: n % 50, payload: { n } }))
  await during(clock, instances[0]!.setMany(work, rows), 50)
  const seen: string[] = []
  const day = { isOver: false }
  const workers = [...instances, ...instances].map(async (timers, n) => {
    while (!day.isOver) {
      const wait = n < 2 ? '1s' : 0
      for (const { key, receipt, attempt } of await timers.lease(work, { max: 13, wait })) {
        seen.push(`${key} ${attempt}`)
        expect(await timers.ack(receipt)).toBe('acked')
      }
    }
  })
  await clock.advance('30s')
  day.isOver = true
  await during(clock, Promise.all(workers), 100)
  expect(seen.toSorted()).toEqual(rows.map(({ key }) => `${key} 1`).toSorted())
  await during(clock, instances[0]!.setMany(work, rows.slice(0, 3)), 50)
  await clock.advance('2s')
  expect(await during(clock, instances[1]!.lease(work, { max: 9 }), 50)).toHaveLength(3)
  await during(clock, Promise.all(instances.map((timers) => timers.stop())), 50)
})

/** A connection to a store that can be cut, as by a network. */
function lineTo(store: MemoryStore, line: { isCut: boolean }): Store {
  const connected: Store = store.connect()
  return new Proxy<Store>(connected, {
    get: (_, property: keyof Store) => {
      const value = connected[property]
      if (typeof value !== 'function') return value
      const call = (value as (...args: unknown[]) => unknown).bind(connected)
      if (property === 'wake' || property === 'onWake' || property === 'onMail' || property === 'stop')
        return call
      return async (...args: unknown[]) => {
        if (line.isCut) throw new StoreError('store-unavailable', 'the line is dead')
        return await call(...args)
      }
    },
  })
}
