import { describe, expect, it } from 'vitest'
import { openTimers, timer } from '../../src/index.js'
import { NamespaceQuota } from '../../src/front/set/namespace-quota.js'
import { MemoryStore } from '../../src/store/index.js'
import { systemClock, VirtualClock } from '../../src/time/index.js'
import { troubled } from './troubled-store.js'
import { FileFixture } from '../server/store-fixtures.js'

const ring = timer<string>('ring')
const full = { code: 'quota-exceeded', name: 'LimitError' }

describe('the quota of a namespace', () => {
  it('refuses one timer too many, but allows to replace, move and cancel timers', async () => {
    const store = new MemoryStore()
    await using timers = await openTimers({ store, alone: true })
    await timers.setQuota({ maxTimers: 3 })
    for (const key of ['a', 'b', 'c']) await timers.set(ring, key, { in: '1h', payload: key })
    await expect(timers.set(ring, 'd', { in: '1h', payload: 'd' })).rejects.toMatchObject(full)
    await expect(timers.set(ring, 'd', { in: '1h', payload: 'd' })).rejects.toThrow('uses 3 of 3 timers')
    expect((await timers.set(ring, 'a', { in: '2h', payload: 'again' })).outcome).toBe('set')
    expect(await timers.move(ring, 'b', { in: '2h' })).toBe('moved')
    expect(await store.countRows()).toBe(3)
    const other = await timers.within('other')
    expect((await other.set(ring, 'd', { in: '1h', payload: 'd' })).outcome).toBe('set')
  })

  it('has room again soon after timers ended, and an old count refuses nothing', async () => {
    const clock = new VirtualClock({ start: 1_800_000_000_000 })
    const store = new MemoryStore({ clock })
    await using timers = await openTimers({ store, clock, alone: true })
    await timers.setQuota({ maxTimers: 2 })
    await timers.set(ring, 'a', { in: '1h', payload: '' })
    await timers.set(ring, 'b', { in: '1h', payload: '' })
    await timers.cancel(ring, 'a')
    // The last count is recent, so a set may still be refused, for at most a second.
    await clock.advance(1001)
    expect((await timers.set(ring, 'c', { in: '1h', payload: '' })).outcome).toBe('set')
    await expect(timers.set(ring, 'd', { in: '1h', payload: '' })).rejects.toMatchObject(full)
  })

  it('limits the bytes of payloads, also of timers that replace others', async () => {
    const store = new MemoryStore()
    await using timers = await openTimers({ store, alone: true })
    await timers.setQuota({ maxBytes: 100 })
    await timers.set(ring, 'a', { in: '1h', payload: 'x'.repeat(58) })
    await expect(timers.set(ring, 'b', { in: '1h', payload: 'x'.repeat(58) })).rejects.toMatchObject(full)
    await timers.set(ring, 'a', { in: '1h', payload: 'x'.repeat(80) })
    await expect(timers.set(ring, 'a', { in: '1h', payload: 'x'.repeat(99) })).rejects.toMatchObject(full)
    expect(await timers.getQuota()).toMatchObject({ maxBytes: 100, used: { timers: 1, bytes: 82 } })
  })

  it('counts dead letters until they are discarded, so timers that fail cannot fill the store', async () => {
    const clock = new VirtualClock({ start: 1_800_000_000_000 })
    const store = new MemoryStore({ clock })
    await using timers = await openTimers({ store, clock, alone: true, logger: false })
    const failing = timer<string>('ring', { retry: { attempts: 1 } })
    timers.handle(failing, () => {
      throw new Error('it always fails')
    })
    await timers.setQuota({ maxTimers: 3, maxBytes: 100 })
    await timers.start()
    for (const key of ['a', 'b']) await timers.set(failing, key, { in: 0, payload: 'xx' })
    await clock.advance(3000)
    expect((await timers.dead()).items).toHaveLength(2)
    expect(await timers.getQuota()).toMatchObject({ used: { timers: 2, bytes: 8, deadLetters: 2 } })
    await timers.set(failing, 'c', { in: '1h', payload: '' })
    const fourth = timers.set(failing, 'd', { in: '1h', payload: '' })
    await expect(fourth).rejects.toThrow(
      '3 of 3 timers and 10 of 100 bytes of payloads (2 of them dead letters',
    )
    expect(await timers.discard({})).toBe(2)
    await clock.advance(1001)
    expect((await timers.set(failing, 'd', { in: '1h', payload: '' })).outcome).toBe('set')
    expect(await store.countDead()).toBe(0)
  })

  it('accepts all rows of a call or none, and holds for concurrent calls', async () => {
    const store = new MemoryStore()
    await using timers = await openTimers({ store, alone: true })
    await timers.setQuota({ maxTimers: 50 })
    const rows = (count: number, name: string) =>
      Array.from({ length: count }, (_, n) => ({ key: `${name}${n}`, in: '1h' as const, payload: '' }))
    await expect(timers.setMany(ring, rows(51, 'x'))).rejects.toMatchObject(full)
    expect(await store.countRows()).toBe(0)
    const answers = await Promise.allSettled(
      Array.from({ length: 200 }, (_, n) => timers.set(ring, `k${n}`, { in: '1h', payload: '' })),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(50)
    expect(await store.countRows()).toBe(50)
  })

  it('includes sets that are in flight while it counts', async () => {
    const clock = new VirtualClock({ start: 1_800_000_000_000 })
    const inner = new MemoryStore({ clock })
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const store = troubled(inner, {
      write: async (fence, write) => {
        await gate
        return await inner.write(fence, write)
      },
    })
    await using timers = await openTimers({ store, clock, alone: true })
    await timers.setQuota({ maxTimers: 1 })
    const first = timers.set(ring, 'a', { in: '9h', payload: '' })
    await clock.advance(2000)
    await expect(timers.set(ring, 'b', { in: '9h', payload: '' })).rejects.toMatchObject(full)
    open()
    expect((await first).outcome).toBe('set')
  })

  it('counts a name once that occurs several times in one call', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    await timers.setQuota({ maxTimers: 1, maxBytes: 10 })
    const rows = ['one', 'two', 'three'].map((payload) => ({ key: 'a', in: '1h', payload }) as const)
    expect((await timers.setMany(ring, rows)).map(({ outcome }) => outcome)).toEqual(['set', 'set', 'set'])
    await expect(timers.setMany(ring, [...rows, { ...rows[0]!, key: 'b' }])).rejects.toMatchObject(full)
    expect(await timers.get(ring, 'a')).toMatchObject({ payload: 'three' })
  })

  it('is the last one that was stored, even if an older read ends later', async () => {
    const store = new MemoryStore()
    let isSlow = true
    const slow = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (name !== 'settings') return typeof value === 'function' ? (value.bind(target) as unknown) : value
        return async (prefix: string) => {
          const isHeld = isSlow
          const found = await target.settings(prefix)
          if (isHeld) await new Promise((resolve) => setTimeout(resolve, 50))
          return found
        }
      },
    })
    const quota = new NamespaceQuota({
      store: slow,
      engine: { clock: systemClock, applyAcknowledged: () => Promise.resolve() },
      namespace: 'n',
    })
    const looking = quota.refresh()
    isSlow = false
    await quota.put({ maxTimers: 3 })
    expect(quota.known).toEqual({ maxTimers: 3 })
    await looking
    expect(quota.known).toEqual({ maxTimers: 3 })
  })

  it('causes no counts when there is none, and can be removed', async () => {
    const store = new MemoryStore()
    let counts = 0
    const usage = store.usage.bind(store)
    store.usage = (namespace) => {
      counts++
      return usage(namespace)
    }
    await using timers = await openTimers({ store, alone: true })
    await timers.set(ring, 'a', { in: '1h', payload: '' })
    expect([counts, await timers.getQuota()]).toEqual([0, {}])
    await timers.setQuota({ maxTimers: 1 })
    await expect(timers.set(ring, 'b', { in: '1h', payload: '' })).rejects.toMatchObject(full)
    await timers.setQuota(undefined)
    expect((await timers.set(ring, 'b', { in: '1h', payload: '' })).outcome).toBe('set')
    await expect(timers.setQuota({ maxTimers: -1 })).rejects.toMatchObject({ code: 'invalid-option' })
  })

  it('counts rarely while the use is far from the limit', async () => {
    const clock = new VirtualClock({ start: 1_800_000_000_000 })
    const store = new MemoryStore({ clock })
    let counts = 0
    const usage = store.usage.bind(store)
    store.usage = (namespace) => {
      counts++
      return usage(namespace)
    }
    await using timers = await openTimers({ store, clock, alone: true })
    await timers.setQuota({ maxTimers: 10_000 })
    for (let n = 0; n < 1000; n++) await timers.set(ring, `k${n}`, { in: '9h', payload: '' })
    expect(counts).toBe(1)
    await clock.advance(30_001)
    await timers.set(ring, 'more', { in: '9h', payload: '' })
    expect(counts).toBe(2)
  })

  it('holds after a restart and in another instance', async () => {
    const place = new FileFixture()
    await place.start()
    try {
      for (const key of ['a', 'b']) {
        await using timers = await openTimers({ store: place.url })
        await timers.setQuota({ maxTimers: 2 })
        await timers.set(ring, key, { in: '1h', payload: '' })
      }
      await using timers = await openTimers({ store: place.url })
      await expect(timers.set(ring, 'c', { in: '1h', payload: '' })).rejects.toMatchObject(full)
    } finally {
      await place.stop()
    }
    const store = new MemoryStore()
    await using one = await openTimers({ store })
    await using two = await openTimers({ store: store.connect() })
    // Started first, because requests in the inbox of a shard without an owner are not counted.
    await one.start()
    await one.setQuota({ maxTimers: 1 })
    await one.set(ring, 'a', { in: '1h', payload: '' })
    await two.getQuota()
    await expect(two.set(ring, 'b', { in: '1h', payload: '' })).rejects.toMatchObject(full)
  })
})
