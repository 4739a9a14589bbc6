import { describe, expect, it } from 'vitest'
import { openTimers, timer } from '../../src/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { identityFrom } from '../../src/front/set/repeated-sets.js'
import { VirtualClock } from '../../src/time/index.js'

const remind = timer<number>('remind')
const IDENTITY = 6_365_666_255_710_785
const MINUTE = 60_000

/** Timers on one store, with the firings that arrive. */
async function open(
  clock = new VirtualClock(),
  store: MemoryStore = new MemoryStore({ shardCount: 2, clock }),
) {
  const timers = await openTimers({ store, clock })
  const fired: { id: string; payload: number }[] = []
  timers.handle(remind, ({ id, payload }) => void fired.push({ id, payload }))
  await timers.start()
  return { store, clock, timers, fired }
}

describe('a set with an idempotencyKey', () => {
  it('is one timer if it is repeated, also in another instance with a later due time', async () => {
    const one = await open()
    const options = { in: '1h', payload: 1, idempotencyKey: 'a' } as const
    const first = await one.timers.set(remind, 'k', options)
    await one.clock.advance(MINUTE)
    const other = await open(one.clock, one.store)
    const again = await other.timers.set(remind, 'k', options)
    expect(again).toMatchObject({ outcome: 'set', key: 'k', handle: first.handle, dueAt: first.dueAt })
    await one.timers.stop()
    await other.timers.stop()
  })

  it('does not fire again if it is repeated after it has fired', async () => {
    const one = await open()
    const options = { in: '1s', payload: 1, idempotencyKey: 'a' } as const
    const first = await one.timers.set(remind, 'k', options)
    await one.clock.advance(30 * MINUTE)
    expect(one.fired).toHaveLength(1)
    await one.timers.stop()
    const later = await open(one.clock, one.store)
    const again = await later.timers.set(remind, 'k', options)
    expect(again).toMatchObject({ outcome: 'set', handle: first.handle, dueAt: first.dueAt })
    await later.clock.advance(5 * MINUTE)
    expect(later.fired).toEqual([])
    await later.timers.stop()
  })

  it('keeps the firing id even when the timer is no longer remembered', async () => {
    const one = await open()
    const options = { in: '1s', payload: 1, idempotencyKey: 'a' } as const
    await one.timers.set(remind, 'k', options)
    await one.clock.advance(5 * 60 * MINUTE)
    await one.timers.set(remind, 'k', options)
    await one.clock.advance(MINUTE)
    expect(one.fired).toHaveLength(2)
    expect(one.fired[1]!.id).toBe(one.fired[0]!.id)
    await one.timers.stop()
  })

  it('makes one timer under one generated key, and another for another idempotencyKey', async () => {
    const { timers } = await open()
    const first = await timers.set(remind, { in: '1h', payload: 1, idempotencyKey: 'a' })
    const again = await timers.set(remind, { in: '1h', payload: 1, idempotencyKey: 'a' })
    const other = await timers.set(remind, { in: '1h', payload: 1, idempotencyKey: 'b' })
    expect(again.key).toBe(first.key)
    expect(other.key).not.toBe(first.key)
    expect((await timers.list()).items).toHaveLength(2)
    await timers.stop()
  })

  it('meets its condition if it is repeated, and replaces a timer of another key', async () => {
    const { timers } = await open()
    const options = { in: '1h', payload: 1, ifAbsent: true, idempotencyKey: 'a' } as const
    await timers.set(remind, 'k', options)
    expect((await timers.set(remind, 'k', options)).outcome).toBe('set')
    await timers.set(remind, 'k', { in: '2h', payload: 2, idempotencyKey: 'b' })
    expect((await timers.get(remind, 'k'))!.payload).toBe(2)
    await timers.stop()
  })

  it('is recognised in setMany, row by row', async () => {
    const { timers, clock, fired } = await open()
    const rows = [1, 2, 3].map(
      (n) => ({ key: `k${n}`, in: '1s', payload: n, idempotencyKey: `a${n}` }) as const,
    )
    await timers.setMany(remind, rows.slice(0, 2))
    await clock.advance(MINUTE)
    const set = await timers.setMany(remind, rows)
    expect(set.map(({ outcome }) => outcome)).toEqual(['set', 'set', 'set'])
    await clock.advance(MINUTE)
    expect(fired.map(({ payload }) => payload)).toEqual([1, 2, 3])
    await timers.stop()
  })

  it('leads to the same identity in every version', () => {
    const name = { namespace: 'default', kind: 'remind' }
    expect(identityFrom('a', { ...name, key: 'k' })).toBe(IDENTITY)
    const drawn = new Set(Array.from({ length: 10_000 }, (_, n) => identityFrom(`a${n}`, name)))
    expect(drawn.size).toBe(10_000)
    for (const identity of drawn) expect(Number.isSafeInteger(identity) && identity > 0).toBe(true)
  })

  it('must be a string of 1 to 512 characters', async () => {
    const { timers } = await open()
    for (const idempotencyKey of ['', 'x'.repeat(513), 7 as unknown as string]) {
      const setting = timers.set(remind, 'k', { in: '1h', payload: 1, idempotencyKey })
      await expect(setting).rejects.toMatchObject({ code: 'invalid-option' })
    }
    await timers.stop()
  })
})
