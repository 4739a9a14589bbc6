import assert from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/error/index.js'
import type { Carriage } from '../../src/store/index.js'
import { Rig, START } from './rig.js'

const HOUR_MS = 3_600_000

// The store's clock, which is also the engine's here, is an hour ahead for five seconds. Timers fire and are settled in
// that time, so the settled level stays an hour ahead.
describe.each(['preload', 'lookahead'] as const)('with %s, a store clock that was ahead once', (strategy) => {
  const settings = { strategy, leaseMs: 10_000, acquireMs: 2000, heartbeatMs: 2000 }

  async function aheadOnce(): Promise<Rig> {
    const rig = new Rig({ settings, memberId: 'one' })
    await rig.settled(rig.engine.start())
    await rig.submit(...Array.from({ length: 20 }, (_, i) => rig.set(`before-${i}`, 500 + 100 * i)))
    rig.clock.jump(HOUR_MS)
    await rig.submit(...Array.from({ length: 20 }, (_, i) => rig.set(`ahead-${i}`, HOUR_MS + 500 + 100 * i)))
    await rig.clock.advance('5s')
    expect(rig.fired).toHaveLength(40)
    rig.clock.jump(-HOUR_MS)
    return rig
  }

  it('does not delay a timer that is set afterwards', async () => {
    const rig = await aheadOnce()
    await rig.submit(rig.set('after', 8000))
    await rig.clock.advance('10s')
    expect(rig.fired.at(-1)).toMatchObject({ key: 'after', at: 8000 })
  })

  it('delays no timer after a crash either, and no settled timer fires again', async () => {
    const rig = await aheadOnce()
    const operations = Array.from({ length: 50 }, (_, i) => rig.set(`after-${i}`, 30_000 + 100 * i))
    await rig.submit(...operations, rig.set('far', 2 * HOUR_MS))
    await rig.settled(rig.engine.stop())
    const next = new Rig({ settings, rig, memberId: 'two' })
    await rig.settled(next.engine.start())
    await rig.clock.advance('40s')
    expect(next.fired.map(({ key }) => key)).toEqual(Array.from({ length: 50 }, (_, i) => `after-${i}`))
    // The measured store time may be slightly behind the store's clock.
    const lateMs = next.fired.map(({ at }, i) => at - (30_000 + 100 * i))
    expect(lateMs.every((late) => late >= 0 && late <= 2)).toBe(true)
    // All timers are settled, although the level cannot rise: a third owner finds nothing to fire.
    await rig.settled(next.engine.stop())
    const third = new Rig({ settings, rig, memberId: 'three' })
    await rig.settled(third.engine.start())
    await rig.clock.advance('20s')
    expect(third.fired).toEqual([])
    await rig.clock.advance('3h')
    expect(third.fired.map(({ key }) => key)).toEqual(['far'])
  })
})

// The same with `preload`, for cases where the read level or the window hides rows.
describe('with few loaded rows, a store clock that was ahead once', () => {
  const settings = { strategy: 'preload', windowMs: 10_000, leaseMs: 10_000, heartbeatMs: 2000 } as const

  it('delays no timer if every loaded row is settled', async () => {
    let isRefusing = false
    const carriage: Carriage = {
      carry: (call, commit) =>
        isRefusing && call.name === 'load'
          ? Promise.reject(new StoreError('store-unavailable', 'not now'))
          : Promise.resolve().then(commit),
      wake: () => undefined,
    }
    const rig = new Rig({ settings, carriage })
    await rig.settled(rig.engine.start())
    rig.clock.jump(HOUR_MS)
    await rig.clock.advance('6s')
    isRefusing = true
    const [{ readLevel } = assert.fail()] = await rig.settled(rig.store.shards())
    await rig.submit(rig.set('last', readLevel.position - 1 - START))
    await rig.clock.advance('20s')
    expect(rig.fired).toHaveLength(1)
    const [{ settledLevel } = assert.fail()] = await rig.settled(rig.store.shards())
    expect(settledLevel).toEqual(readLevel)
    rig.clock.jump(-HOUR_MS)
    isRefusing = false
    await rig.submit(rig.set('after', 40_000))
    await rig.clock.advance('30s')
    expect(rig.fired.at(-1)).toMatchObject({ key: 'after', at: 40_000 })
  })

  it('does not hide a row that left memory before it was due', async () => {
    const minute = 60_000
    let isSetRight = true
    const carriage: Carriage = {
      carry: (call, commit) =>
        Promise.resolve().then(() => {
          const answer = commit()
          // The clock is corrected while the answer is on its way.
          if (!isSetRight && call.name === 'write') rig.clock.jump(-HOUR_MS)
          if (call.name === 'write') isSetRight = true
          return answer
        }),
      wake: () => undefined,
    }
    const rig: Rig = new Rig({ settings: { ...settings, maxTimers: 40 }, carriage })
    await rig.settled(rig.engine.start())
    rig.clock.jump(HOUR_MS)
    await rig.clock.advance('6s')
    isSetRight = false
    await rig.submit(rig.set('late', 50 * minute))
    for (let i = 0; i < 39; i++) await rig.submit(rig.set(`between-${i}`, 30 * minute + i))
    await rig.clock.advance('1m')
    expect(rig.eventsOf('window')).not.toEqual([])
    await rig.clock.advance('70m')
    expect(rig.fired).toHaveLength(40)
    expect(rig.fired.at(-1)).toMatchObject({ key: 'late', at: 50 * minute })
  })
})
