import { describe, expect, it } from 'vitest'
import { type Flow, freeFlow } from '../../src/engine/index.js'
import { done } from '../../src/timer/index.js'
import { ClaimRig } from './claim-rig.js'
import { Rig, START } from './rig.js'

const MAX_TIMERS = 100
const STUCK = 10 * MAX_TIMERS
const SECONDS = 90

/** A kind of which nothing, or nothing more, can start, whatever is due of it. */
const troubles = {
  'nobody takes': 0,
  'its few attempts hang': 5,
} as const

function flowWith(stuckConcurrency: number): Flow & { stuck: number } {
  const flow = {
    ...freeFlow(1000),
    stuck: stuckConcurrency,
    concurrencyOf: (_namespace: string, kind: string) => (kind === 'stuck' ? flow.stuck : 1000),
    kinds: () =>
      ['stuck', 'k'].flatMap((kind) =>
        kind === 'stuck' && flow.stuck === 0 ? [] : [{ namespace: 'n', kind }],
      ),
  }
  return flow
}

/** Timers of a kind that is well, twenty in each second. */
function wellTimers(rig: Rig | ClaimRig, fromMs: number) {
  return Array.from({ length: SECONDS * 20 }, (_, index) => rig.set(`well-${index}`, fromMs + index * 50))
}

function stuckTimers(rig: Rig | ClaimRig, inMs: (index: number) => number) {
  return Array.from({ length: STUCK }, (_, index) =>
    rig.set(`stuck-${index}`, inMs(index), { kind: 'stuck' }),
  )
}

/** How late the timers of the kind that is well were at worst, in milliseconds. */
function worstLateness(
  fired: readonly { readonly key: string; readonly at: number }[],
  fromMs: number,
): number {
  const well = fired.filter(({ key }) => key.startsWith('well'))
  expect(well).toHaveLength(SECONDS * 20)
  return Math.max(...well.map(({ key, at }) => at - (fromMs + Number(key.slice(5)) * 50)))
}

describe.each(['preload', 'lookahead'] as const)(
  '%s, ten times as much due as fits of a kind that',
  (strategy) => {
    const settings = { strategy, maxTimers: MAX_TIMERS, windowMs: 20_000 }

    describe.each(Object.entries(troubles))('%s', (_name, concurrency) => {
      const makeRig = () => {
        const flow = flowWith(concurrency)
        const rig = new Rig({ settings, flow, holdsAll: true })
        rig.handle = (firing) => {
          if (firing.row.kind !== 'stuck') firing.report(done)
        }
        return { rig, flow }
      }

      it('delays no other kind while it runs', async () => {
        const { rig } = makeRig()
        await rig.settled(rig.engine.start())
        await rig.clock.advance(5000)
        const from = rig.clock.now() - START + 30_000
        const sets = rig.engine.submit([
          ...wellTimers(rig, from),
          ...stuckTimers(rig, (index) => from + 10_000 + (index % 100) * 10),
        ])
        await rig.clock.advance(30_000 + SECONDS * 1000 + 5000)
        await sets
        // That attempts hang shows only after a while.
        expect(worstLateness(rig.fired, from)).toBeLessThan(concurrency === 0 ? 50 : 2500)
        expect(rig.engine.shards[0]!.view.inMemory).toBeLessThanOrEqual(MAX_TIMERS)
      })

      it('delays no other kind for long when it is there at the start', async () => {
        const { rig } = makeRig()
        await rig.settled(rig.engine.open())
        const sets = rig.engine.submit([...stuckTimers(rig, () => -60_000), ...wellTimers(rig, 0)])
        await rig.settled(rig.engine.start())
        await rig.clock.advance(SECONDS * 1000 + 30_000)
        await sets
        expect(worstLateness(rig.fired, 0)).toBeLessThan(5000)
      })

      it('loses none of it: all of it fires once it may', async () => {
        const { rig, flow } = makeRig()
        await rig.settled(rig.engine.start())
        const sets = rig.engine.submit(stuckTimers(rig, (index) => 1000 + index))
        await rig.clock.advance(60_000)
        await sets
        const hung = rig.fired.length
        expect(hung).toBe(concurrency)
        flow.stuck = 1000
        rig.handle = (firing) => firing.report(done)
        rig.engine.refresh()
        await rig.clock.advance(20_000)
        expect(rig.fired).toHaveLength(STUCK)
        expect(rig.fired.every(({ attempt }) => attempt === 1)).toBe(true)
      })

      it('fires all of it at once when it may, also what was put back to one place', async () => {
        const { rig, flow } = makeRig()
        await rig.settled(rig.engine.start())
        const sets = rig.engine.submit(stuckTimers(rig, () => 1000))
        await rig.clock.advance(400_000)
        await sets
        flow.stuck = 1000
        rig.handle = (firing) => firing.report(done)
        rig.engine.refresh()
        await rig.clock.advance(20_000)
        expect(rig.fired).toHaveLength(STUCK)
      })
    })
  },
)

describe.each(['preload', 'lookahead'] as const)(
  '%s, more due than fits of a kind that is slow',
  (strategy) => {
    it('is caught up when all of it has ended, not when it was put back', async () => {
      const settings = { strategy, maxTimers: MAX_TIMERS, windowMs: 20_000, carryAfterMs: 1000 }
      const flow = { ...freeFlow(1000), concurrencyOf: () => 5 }
      const rig: Rig = new Rig({ settings, flow, holdsAll: true })
      rig.handle = (firing) => void rig.clock.wakeAfter(200, () => firing.report(done))
      await rig.settled(rig.engine.open())
      const sets = rig.engine.submit(Array.from({ length: STUCK }, (_, index) => rig.set(`t${index}`, -1000)))
      await rig.settled(rig.engine.start())
      await rig.clock.advance(100)
      for (let waited = 0; waited < 120_000 && !rig.engine.isCaughtUp; waited += 10)
        await rig.clock.advance(10)
      await sets
      expect(rig.engine.stats().counts.putBack).toBeGreaterThan(0)
      expect([rig.engine.isCaughtUp, rig.fired.length]).toEqual([true, STUCK])
    })
  },
)

describe('claim, ten times as much due as fits of a kind that', () => {
  it.each(Object.entries(troubles))('%s delays no other kind', async (_name, concurrency) => {
    const rig = new ClaimRig()
    rig.handle = (firing) => {
      if (firing.row.kind !== 'stuck') firing.report(done)
    }
    const engine = rig.engine('one', {
      flow: flowWith(concurrency),
      settings: { maxTimers: MAX_TIMERS, claimRows: 50 },
    })
    await rig.settled(engine.open())
    const sets = engine.submit([...stuckTimers(rig, () => -60_000), ...wellTimers(rig, 0)])
    await rig.settled(engine.start())
    await rig.clock.advance(SECONDS * 1000 + 30_000)
    await sets
    expect(worstLateness(rig.fired, 0)).toBeLessThan(100)
  })
})
