import { describe, expect, it } from 'vitest'
import { openTimers, timer } from '../../src/index.js'
import { MemoryStore } from '../../src/store/index.js'
import { eventually } from '../eventually.js'

const ring = timer<{ n: number }>('ring')

describe('within', () => {
  it('gives each namespace its own handlers, on one store and one engine', async () => {
    await using outer = await openTimers({ store: 'memory:' })
    const inner = await outer.within('other')
    expect(await outer.within('other')).toBe(inner)
    expect(await outer.within('default')).toBe(outer)
    expect(inner.engine).toBe(outer.engine)
    const seen: string[] = []
    outer.handle(ring, (firing) => seen.push(`${firing.namespace} ${firing.payload.n}`))
    inner.handle(ring, (firing) => seen.push(`${firing.namespace} ${firing.payload.n}`))
    await outer.start()
    await outer.set(ring, 'a', { in: 0, payload: { n: 1 } })
    await inner.set(ring, 'a', { in: 0, payload: { n: 2 } })
    await eventually(() => expect(seen.toSorted()).toEqual(['default 1', 'other 2']))
  })

  it('starts namespaces that are opened after start, and pauses each on its own', async () => {
    await using outer = await openTimers({ store: 'memory:' })
    await outer.start()
    const inner = await outer.within('late')
    const seen: string[] = []
    outer.handle(ring, ({ namespace }) => seen.push(namespace))
    inner.handle(ring, ({ namespace }) => seen.push(namespace))
    await inner.pause(ring)
    expect(await inner.paused()).toMatchObject({ all: false, kinds: ['ring'] })
    expect(await outer.paused()).toEqual({ all: false, kinds: [], ofKinds: [] })
    await inner.set(ring, 'a', { in: 0, payload: { n: 1 } })
    await outer.set(ring, 'a', { in: 0, payload: { n: 1 } })
    await eventually(() => expect(seen).toEqual(['default']))
    await inner.resume(ring)
    await eventually(() => expect(seen).toEqual(['default', 'late']))
    expect(await inner.kinds()).toEqual(['ring'])
  })

  it('keeps the timers of a namespace waiting until it is opened', async () => {
    const store = new MemoryStore()
    const first = await openTimers({ store, namespace: 'other' })
    await first.set(ring, 'a', { in: 0, payload: { n: 1 } })
    await first.stop()
    await using outer = await openTimers({ store })
    const seen: string[] = []
    outer.handleOthers(({ namespace }) => seen.push(namespace))
    await outer.start()
    const inner = await outer.within('other')
    expect(seen).toEqual([])
    inner.handleOthers(({ namespace }) => seen.push(namespace))
    await eventually(() => expect(seen).toEqual(['other']))
  })

  it('returns timers that stop together with those that opened them', async () => {
    const outer = await openTimers({ store: 'memory:' })
    const inner = await outer.within('other')
    await outer.stop()
    await expect(inner.set(ring, 'a', { in: 0, payload: { n: 1 } })).rejects.toMatchObject({
      code: 'stopped',
    })
  })
})

describe('a conditional change', () => {
  it('is made if the timer has the revision, and otherwise returns conflict', async () => {
    await using timers = await openTimers({ store: 'memory:' })
    const { revision } = await timers.set(ring, 'a', { in: '1h', payload: { n: 1 } })
    const stale = { ifRevision: revision! + 100 }
    expect(await timers.move(ring, 'a', { in: '2h' }, stale)).toBe('conflict')
    expect(await timers.cancel(ring, 'a', stale)).toBe('conflict')
    expect(await timers.fireNow(ring, 'a', stale)).toBe('conflict')
    expect(await timers.move(ring, 'a', { in: '2h' }, { ifRevision: revision! })).toBe('moved')
    expect(await timers.cancel(ring, 'a', { ifRevision: revision! })).toBe('conflict')
    const now = (await timers.get(ring, 'a'))!.revision
    expect(await timers.cancel(ring, 'a', { ifRevision: now })).toBe('cancelled')
    expect(await timers.cancel(ring, 'a', { ifRevision: now })).toBe('unknown')
  })
})
