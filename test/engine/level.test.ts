import { describe, expect, it } from 'vitest'
import type { Carriage } from '../../src/store/index.js'
import { done } from '../../src/timer/index.js'
import { Rig, START } from './rig.js'

describe('the settled level', () => {
  it('keeps rising while timers that are long overdue keep arriving', async () => {
    const rig = new Rig({ holdsAll: true })
    await rig.engine.start()
    await rig.clock.advance(2000)
    // Each attempt takes longer than the time between two timers, so one is always under way.
    rig.handle = (firing) => {
      if (firing.row.key.startsWith('late')) rig.clock.wakeAfter(300, () => firing.report(done))
      else firing.report(done)
    }
    for (let i = 0; i < 200; i++) {
      const set = rig.engine.submit([
        rig.set(`late-${i}`, -60_000),
        rig.set(`now-${i}`, rig.clock.now() - START),
      ])
      await rig.clock.advance(100)
      await set
    }
    const [shard] = rig.engine.shards
    expect(rig.clock.now() - shard!.view.settledPosition).toBeLessThan(3000)
    expect(shard!.view.inMemory).toBeLessThan(60)
    const stop = rig.engine.stop()
    await rig.clock.advance(20_000)
    await stop
  })
})

describe('a long burst of one kind', () => {
  const COUNT = 12_000
  const AT_ONCE = 64
  const TAKES_MS = 50
  // A settlement takes long, like one of many rows on a busy machine.
  const SETTLE_MS = 2500

  it.each(['alone', 'next to another kind'])(
    '%s keeps firing while settlements are under way',
    async (company) => {
      const carriage: Carriage = {
        carry: async ({ name }, commit) => {
          if (name === 'settle') await new Promise<void>((resolve) => rig.clock.wakeAfter(SETTLE_MS, resolve))
          return commit()
        },
        wake: (deliver) => deliver(),
      }
      const rig: Rig = new Rig({
        holdsAll: true,
        carriage,
        policy: { concurrencyOf: () => AT_ONCE },
        settings: { settleCount: 20_000 },
      })
      rig.handle = (firing) => void rig.clock.wakeAfter(TAKES_MS, () => firing.report(done))
      await rig.settled(rig.engine.start())
      const sets = rig.engine.submit(
        Array.from({ length: COUNT }, (_, index) => rig.set(`burst-${index}`, 1000)),
      )
      const others = rig.engine.submit(
        Array.from({ length: company === 'alone' ? 0 : 200 }, (_, index) =>
          rig.set(`other-${index}`, 1000 + index * 50, { kind: 'other' }),
        ),
      )
      await rig.clock.advance(1000 + (COUNT / AT_ONCE) * TAKES_MS + 5000)
      await Promise.all([sets, others])
      const burst = rig.fired.filter(({ key }) => key.startsWith('burst'))
      expect(burst).toHaveLength(COUNT)
      const gaps = burst.slice(1).map(({ at }, index) => at - burst[index]!.at)
      expect(Math.max(...gaps)).toBeLessThanOrEqual(2 * TAKES_MS)
      // A row is rewritten only if a row above it is done.
      if (company === 'alone') expect(rig.engine.stats().counts.carried).toBe(0)
    },
  )
})

describe('a burst that is spread over many shards', () => {
  it.each([
    ['is settled at once if all shards together reach settleCount', 100, 10],
    ['is settled right after its end if it reaches a tenth of settleCount', 1000, 30],
    ['is settled after settleMs if it is smaller', 1001, 5000],
  ])('%s', async (_, settleCount, latestMs) => {
    const rig = new Rig({ holdsAll: true, shardCount: 8, settings: { settleCount, settleMs: 5000 } })
    rig.handle = (firing) => void rig.clock.wakeAfter(10, () => firing.report(done))
    await rig.settled(rig.engine.start())
    const sets = rig.engine.submit(Array.from({ length: 100 }, (__, index) => rig.set(`b${index}`, 7000)))
    await rig.clock.advance(15_000)
    await sets
    expect(rig.fired).toHaveLength(100)
    const settled = rig.eventsOf('settled').filter(({ count }) => count > 0)
    expect(settled.reduce((sum, { count }) => sum + count, 0)).toBe(100)
    const latest = Math.max(...settled.map(({ at }) => at)) - 7010
    expect(latest).toBeLessThanOrEqual(latestMs)
    if (latestMs === 5000) expect(latest).toBeGreaterThan(100)
    const stop = rig.engine.stop()
    await rig.clock.advance(20_000)
    await stop
  })
})
