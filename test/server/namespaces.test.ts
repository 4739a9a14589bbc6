import { describe, expect, it } from 'vitest'
import { openTimers, timer, type Timers } from '../../src/index.js'
import { Namespaces } from '../../src/server/namespaces.js'
import { MemoryStore } from '../../src/store/index.js'
import { systemClock } from '../../src/time/index.js'
import { eventually } from '../eventually.js'

const limits = { stored: 40, empty: 10 }

async function open(store = new MemoryStore()): Promise<{ timers: Timers; namespaces: Namespaces }> {
  const timers = await openTimers({ store, logger: false })
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const namespaces = new Namespaces({ timers, store, clock: systemClock, refreshMs: 60_000, onError, limits })
  return { timers, namespaces }
}

/** A store in which this many namespaces have a kind. */
async function storeWith(count: number): Promise<MemoryStore> {
  const store = new MemoryStore()
  for (let i = 0; i < count; i++) await store.putSetting(`kind/tenant-${i}/k`, 'known')
  return store
}

describe('the namespaces of a server', () => {
  it('are all opened at the start, also if there are more than may be begun', async () => {
    const count = limits.stored + 50
    const { timers, namespaces } = await open(await storeWith(count))
    await using _ = timers
    await namespaces.start()
    expect(namespaces.size).toBe(count + 1)
    // No more can be begun, but those in the store can be used, also by another instance.
    await expect(Promise.resolve(namespaces.timersOf('one-more'))).rejects.toMatchObject({
      code: 'too-many-namespaces',
    })
    expect(await namespaces.timersOf('tenant-7')).toBeDefined()
    namespaces.stop()
  })

  it('can be begun although requests have touched thousands of empty ones', async () => {
    const { timers, namespaces } = await open()
    await using _ = timers
    await namespaces.start()
    const early = await namespaces.timersOf('early')
    await early.set(timer('k'), 'a', { in: '1h' })
    for (let i = 0; i < limits.stored + 100; i++) await namespaces.timersOf(`touched-${i}`)
    await eventually(() => expect(namespaces.size).toBeLessThanOrEqual(limits.empty + 2))
    // It has a timer, so it stayed, and so did its object.
    expect(namespaces.openTimersOf('early')).toBe(early)
    const late = await namespaces.timersOf('late')
    expect((await late.set(timer('k'), 'a', { in: '1h' })).outcome).toBe('set')
    namespaces.stop()
  })

  it('are not closed while a request uses them, and are opened again after they were closed', async () => {
    const { timers, namespaces } = await open()
    await using _ = timers
    await namespaces.start()
    const over: (() => void)[] = []
    const held = await namespaces.timersOf('held', (done) => over.push(done))
    const first = await namespaces.timersOf('first')
    for (let i = 0; i < limits.empty + 50; i++) await namespaces.timersOf(`touched-${i}`)
    await eventually(() => expect(namespaces.openTimersOf('first')).toBeUndefined())
    expect(namespaces.openTimersOf('held')).toBe(held)
    const again = await namespaces.timersOf('first')
    expect(again).not.toBe(first)
    expect((await again.set(timer('k'), 'a', { in: '1h' })).outcome).toBe('set')
    over[0]!()
    for (let i = 0; i < limits.empty + 50; i++) await namespaces.timersOf(`later-${i}`)
    await eventually(() => expect(namespaces.openTimersOf('held')).toBeUndefined())
    expect(namespaces.openTimersOf('first')).toBe(again)
    namespaces.stop()
  })
})
