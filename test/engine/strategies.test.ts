import { describe, expect, it } from 'vitest'
import { Rig, START } from './rig.js'

/** Advances to this many milliseconds after 10:00:00. */
async function to(rig: Rig, ms: number): Promise<void> {
  await rig.clock.advance(START + ms - rig.clock.now())
}

describe('the strategy lookahead', () => {
  it('follows the example timeline of the design step by step', async () => {
    const rig = new Rig({ settings: { strategy: 'lookahead' }, holdsAll: true })
    await rig.engine.open()
    await rig.submit(
      rig.set('A', 0),
      rig.set('B', 500),
      rig.set('C', 800),
      rig.set('D', 900),
      rig.set('E', 2000),
    )
    // 10:00:00: it loads A to D. E is next, so it loads again at 10:00:02.
    await rig.engine.start()
    await rig.clock.advance(0)
    expect(rig.eventsOf('loaded')).toMatchObject([
      { at: 0, count: 4, until: START + 1000, nextLoadAt: START + 2000 },
    ])
    await to(rig, 1999)
    expect(rig.fired.map(({ key, at }) => [key, at])).toEqual([
      ['A', 0],
      ['B', 500],
      ['C', 800],
      ['D', 900],
    ])
    // 10:00:02: it loads E. Nothing follows, so the default interval applies.
    await to(rig, 2000)
    expect(rig.eventsOf('loaded').at(-1)).toMatchObject({
      at: 2000,
      count: 1,
      until: START + 3000,
      nextLoadAt: START + 7000,
    })
    expect(rig.fired.at(-1)).toMatchObject({ key: 'E', at: 2000 })
    // 10:00:07: it finds nothing.
    await to(rig, 7000)
    expect(rig.eventsOf('loaded').at(-1)).toMatchObject({ at: 7000, count: 0, nextLoadAt: START + 12_000 })
    // 10:00:08: a new timer is due before the next load, so that load comes earlier.
    await to(rig, 8000)
    await rig.submit(rig.set('F', 10_000))
    expect(rig.engine.shards[0]!.view.nextLoadAt).toBe(START + 10_000)
    // 10:00:09: a new timer that is due after the next load changes nothing.
    await to(rig, 9000)
    await rig.submit(rig.set('G', 15_000))
    expect(rig.engine.shards[0]!.view.nextLoadAt).toBe(START + 10_000)
    // 10:00:10: it loads F. G is next.
    await to(rig, 10_000)
    expect(rig.eventsOf('loaded')).toHaveLength(4)
    expect(rig.eventsOf('loaded').at(-1)).toMatchObject({ at: 10_000, count: 1, nextLoadAt: START + 15_000 })
    expect(rig.fired.at(-1)).toMatchObject({ key: 'F', at: 10_000 })
    await to(rig, 20_000)
    expect(rig.fired.at(-1)).toMatchObject({ key: 'G', at: 15_000 })
    expect(await rig.store.countRows()).toBe(0)
  })

  it('loads less and less often while it finds nothing, within its bounds', async () => {
    const rig = new Rig({ settings: { strategy: 'lookahead' } })
    await rig.engine.start()
    await rig.clock.advance('10m')
    const at = rig.eventsOf('loaded').map((event) => event.at)
    const gaps = at.slice(1).map((time, index) => time - at[index]!)
    expect(gaps.slice(0, 3)).toEqual([5000, 5000, 5000])
    expect(gaps.at(-1)).toBe(30_000)
    expect(Math.max(...gaps)).toBe(30_000)
  })
})

describe('the strategy preload', () => {
  it('follows the example timeline with memory management step by step', async () => {
    // The regular deletion is far in the future, so that the early one can be seen.
    const settings = {
      windowMs: 120_000,
      maxTimers: 100_000,
      pageRows: 50_000,
      sweepMs: 600_000,
      outcomesMs: 1,
    }
    const rig = new Rig({ settings, holdsAll: true })
    await rig.engine.open()
    const many = (name: string, count: number, fromMs: number, untilMs: number) =>
      Array.from({ length: count }, (_, index) =>
        rig.set(`${name}${index}`, fromMs + Math.floor((index * (untilMs - fromMs)) / count)),
      )
    await rig.submit(...many('early', 15_000, 0, 30_000), ...many('late', 35_000, 62_000, 119_000))
    // 10:00:00: it loads the 50,000 timers of the next two minutes.
    await rig.engine.start()
    await rig.clock.advance(0)
    const shard = rig.engine.shards[0]!
    expect(rig.eventsOf('loaded').reduce((sum, { count }) => sum + count, 0)).toBe(50_000)
    expect(rig.eventsOf('loaded').at(-1)!.until).toBe(START + 120_000)
    expect(shard.view.windowMs).toBe(120_000)
    // 10:00:30: 20,000 more are set. Memory suffices.
    await to(rig, 15_000)
    await rig.submit(...many('new', 20_000, 100_000, 119_000))
    await to(rig, 30_000)
    expect(rig.fired).toHaveLength(15_000)
    expect(shard.view.inMemory).toBeGreaterThan(54_000)
    expect(rig.eventsOf('window')).toEqual([])
    expect(rig.eventsOf('swept')).toEqual([])
    // 10:01:00: memory is near its limit. The window shrinks to 1.6 minutes, and finished rows are deleted early.
    await to(rig, 60_000)
    await rig.submit(...many('flood', 41_000, 100_000, 119_000))
    await rig.clock.advance('2s')
    expect(rig.eventsOf('window')[0]).toMatchObject({ windowMs: 96_000 })
    expect(rig.eventsOf('swept')[0]).toMatchObject({ removed: 15_000 })
    // 10:01:15: memory is below its limit. Rows that were dropped from memory are still in the store.
    await to(rig, 75_000)
    expect(shard.view.inMemory).toBeLessThan(95_000)
    // Every timer fires.
    await to(rig, 180_000)
    expect(rig.fired).toHaveLength(15_000 + 35_000 + 20_000 + 41_000)
    expect(new Set(rig.fired.map(({ key }) => key)).size).toBe(rig.fired.length)
    expect(Math.max(...rig.fired.map(({ at }) => at))).toBeLessThan(119_000)
    // The window grows back.
    await to(rig, 600_000)
    expect(shard.view.windowMs).toBe(120_000)
  })

  it('keeps memory under its limit and fires all timers while far more are due than fit', async () => {
    const settings = { maxTimers: 1000, pageRows: 500 }
    const rig = new Rig({ settings, holdsAll: true })
    let most = 0
    rig.handle = (firing) => {
      most = Math.max(most, rig.engine.shards[0]!.view.inMemory)
      firing.report({ type: 'done' })
    }
    await rig.engine.open()
    for (let batch = 0; batch < 50; batch++) {
      const ops = Array.from({ length: 1000 }, (_, index) =>
        rig.set(`${batch}/${index}`, (index * 120_000) / 1000),
      )
      await rig.submit(...ops)
    }
    await rig.engine.start()
    await rig.clock.advance('5m')
    expect(rig.fired).toHaveLength(50_000)
    expect(most).toBeGreaterThan(400)
    expect(most).toBeLessThanOrEqual(1000)
    expect(await rig.store.countRows()).toBe(0)
  })
})
