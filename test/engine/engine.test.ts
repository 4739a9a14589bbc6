import { describe, expect, it } from 'vitest'
import type { RequestedOperation } from '../../src/store/index.js'
import { Rig } from './rig.js'

describe.each(['preload', 'lookahead'] as const)('the engine with %s', (strategy) => {
  const settings = { strategy }

  it('joins small calls of one turn into one write, and writes large ones separately', async () => {
    const rig = new Rig({ settings })
    await rig.settled(rig.engine.start())
    const many = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, number) => rig.set(`${prefix}-${number}`, 60_000))
    const both = (first: RequestedOperation[], second: RequestedOperation[]) =>
      rig.settled(Promise.all([rig.engine.submit(first), rig.engine.submit(second)]))
    const writes = () => rig.engine.stats().counts.writes
    await both(many('a', 5), many('b', 5))
    expect(writes()).toBe(1)
    await both(many('c', 50), many('d', 50))
    expect(writes()).toBe(3)
    // Calls that arrive meanwhile wait for their turn, so the last call on a key wins.
    const [sets, cancels] = await both(
      many('e', 50),
      Array.from({ length: 50 }, (_, number) => rig.cancel(`e-${number}`)),
    )
    expect(sets.every(({ outcome }) => outcome === 'set')).toBe(true)
    expect(cancels.every(({ outcome }) => outcome === 'cancelled')).toBe(true)
  })

  it('fires a timer once, at its due time, and settles it', async () => {
    const rig = new Rig({ settings })
    await rig.settled(rig.engine.start())
    expect(await rig.submit(rig.set('a', 500), rig.set('b', 60_000))).toMatchObject([
      { outcome: 'set' },
      { outcome: 'set' },
    ])
    await rig.clock.advance('2m')
    expect(rig.fired).toMatchObject([
      { key: 'a', at: 500, attempt: 1 },
      { key: 'b', at: 60_000, attempt: 1 },
    ])
    expect(await rig.store.countRows()).toBe(0)
    expect(await rig.store.counts()).toMatchObject({ created: 2, settled: 2 })
    await rig.settled(rig.engine.stop())
    expect((await rig.store.shards())[0]).toMatchObject({ owner: '' })
  })

  it('fires timers that were set before it started, overdue ones at once', async () => {
    const rig = new Rig({ settings, holdsAll: true })
    await rig.settled(rig.engine.open())
    await rig.submit(rig.set('late', -5000), rig.set('soon', 1500))
    await rig.clock.advance('1s')
    expect(rig.fired).toEqual([])
    await rig.settled(rig.engine.start())
    await rig.clock.advance('5s')
    expect(rig.fired.map(({ key }) => key)).toEqual(['late', 'soon'])
  })

  it('replaces, moves and cancels by key', async () => {
    const rig = new Rig({ settings })
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('a', 10_000), rig.set('b', 10_000), rig.set('c', 10_000), rig.set('d', 300_000))
    expect(
      await rig.submit(rig.set('a', 20_000), rig.move('b', 30_000), rig.cancel('c'), rig.move('d', 40_000)),
    ).toMatchObject([
      { outcome: 'set', replaced: { identity: 1 } },
      { outcome: 'moved' },
      { outcome: 'cancelled' },
      { outcome: 'moved' },
    ])
    expect(await rig.submit(rig.cancel('c'), rig.move('x', 1))).toMatchObject([
      { outcome: 'unknown' },
      { outcome: 'unknown' },
    ])
    await rig.clock.advance('10m')
    expect(rig.fired.map(({ key, at }) => [key, at])).toEqual([
      ['a', 20_000],
      ['b', 30_000],
      ['d', 40_000],
    ])
  })

  it('answers firing to move and cancel while an attempt is under way, and lets it go on', async () => {
    const rig = new Rig({ settings })
    rig.handle = () => undefined
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('a', 1000))
    await rig.clock.advance('2s')
    expect(await rig.submit(rig.cancel('a'), rig.move('a', 5000))).toMatchObject([
      { outcome: 'firing' },
      { outcome: 'firing' },
    ])
  })

  it('retries, goes on to the next occurrence and keeps dead letters', async () => {
    const rig = new Rig({ settings })
    rig.handle = (firing) => {
      const { key, attempt } = { key: firing.row.key, attempt: firing.attempt }
      if (key === 'retry' && attempt < 3)
        firing.report({ type: 'retry', dueAt: rig.clock.now() + 2000, reason: 'again' })
      else if (key === 'next' && firing.row.occurrence < 2)
        firing.report({ type: 'next', dueAt: firing.row.dueAt + 10_000 })
      else if (key === 'dead') firing.report({ type: 'dead', reason: 'no more' })
      else firing.report({ type: 'done' })
    }
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('retry', 1000), rig.set('next', 1000), rig.set('dead', 1000))
    await rig.clock.advance('1m')
    expect(rig.fired.filter(({ key }) => key === 'retry').map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expect(new Set(rig.fired.filter(({ key }) => key === 'retry').map(({ id }) => id)).size).toBe(1)
    expect(rig.fired.filter(({ key }) => key === 'next').map(({ at }) => at)).toEqual([1000, 11_000, 21_000])
    expect((await rig.store.deadLetters({ namespace: 'n', limit: 10 })).items).toMatchObject([
      { reason: 'no more', row: { key: 'dead' } },
    ])
    expect(await rig.store.counts()).toEqual({ created: 3, settled: 2, dead: 1, cancelled: 0, replaced: 0 })
  })

  it('carries a hanging attempt, so that the settled level can rise and others fire', async () => {
    const rig = new Rig({ settings })
    rig.handle = (firing) => {
      if (firing.row.key !== 'hangs') firing.report({ type: 'done' })
    }
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('hangs', 1000))
    for (let second = 2; second < 40; second++) await rig.submit(rig.set(`x${second}`, second * 1000))
    await rig.clock.advance('60s')
    expect(rig.fired.length).toBe(39)
    expect(await rig.store.countRows()).toBe(1)
    expect((await rig.store.list({ namespace: 'n', limit: 10 })).items).toMatchObject([
      { key: 'hangs', attempt: 0 },
    ])
  })

  it('shares shards among instances and takes over from one that dies', async () => {
    const one = new Rig({ settings, shardCount: 8, memberId: 'one' })
    const two = new Rig({ settings, rig: one, memberId: 'two' })
    await one.settled(Promise.all([one.engine.start(), two.engine.start()]))
    await one.clock.advance('30s')
    expect(one.engine.shards.length + two.engine.shards.length).toBe(8)
    expect(one.engine.shards.length).toBeGreaterThan(0)
    expect(two.engine.shards.length).toBeGreaterThan(0)
    const answers = await one.submit(
      ...Array.from({ length: 100 }, (_, index) => one.set(`t${index}`, 60_000)),
    )
    expect(answers.every(({ outcome }) => outcome === 'set' || outcome === 'appended')).toBe(true)
    await one.settled(two.engine.stop())
    await one.clock.advance('2m')
    expect(one.fired.length + two.fired.length).toBe(100)
    expect(await one.store.countRows()).toBe(0)
  })
})

describe('a wall clock that is set back', () => {
  it('makes no timer fire early, and one that is cancelled meanwhile does not fire', async () => {
    const rig = new Rig({ settings: { maxClockOffsetMs: 100_000 } })
    await rig.settled(rig.engine.start())
    // A timer fires while the clock is ahead, so the wheel has advanced as far.
    rig.clock.jump(60_000)
    await rig.submit(rig.set('first', 0))
    await rig.clock.advance('3s')
    expect(rig.fired).toHaveLength(1)
    // By the corrected clock these are not due yet. By the wheel, which cannot go back, they are.
    rig.clock.jump(-60_000)
    const keys = Array.from({ length: 50 }, (_, index) => `t${index}`)
    await rig.submit(...keys.map((key) => rig.set(key, 10_000)), rig.set('x', 10_000))
    await rig.clock.advance('5s')
    expect(rig.fired).toHaveLength(1)
    rig.fired.length = 0
    expect(rig.fired).toEqual([])
    expect(await rig.submit(rig.cancel('x'))).toMatchObject([{ outcome: 'cancelled' }])
    await rig.clock.advance('10s')
    expect(rig.fired).toHaveLength(50)
    expect(Math.min(...rig.fired.map(({ at }) => at))).toBeGreaterThanOrEqual(10_000)
    // Their positions are above a level that is ahead, so they are settled when the clock has passed it.
    await rig.clock.advance('60s')
    expect(await rig.store.counts()).toMatchObject({ created: 52, settled: 51, cancelled: 1 })
  })
})

describe('the settings', () => {
  it.each([
    [{ strategy: 'claim' }, 'strategy'],
    [{ windowMs: 0 }, 'windowMs'],
    [{ windowMS: 1000 }, 'windowMS'],
    [{ leaseMs: 1000, leaseMarginMs: 600 }, 'leaseMarginMs'],
    [{ pageRows: 100_000 }, 'pageRows'],
  ])('are rejected if invalid: %j', (settings, named) => {
    expect(() => new Rig({ settings: settings as never })).toThrow(named)
  })
})
