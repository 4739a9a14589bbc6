import { describe, expect, it } from 'vitest'
import { type DeliveryPolicy, unlimitedPolicy } from '../../src/engine/index.js'
import { done } from '../../src/timer/index.js'
import { ClaimRig } from './claim-rig.js'
import { Rig, START } from './rig.js'

const MAX_TIMERS = 100
const STUCK = 10 * MAX_TIMERS
const SECONDS = 90

/** Why no timer of a kind can start: the number of attempts that may run at once, by reason. */
const blockages = {
  'has no handler': 0,
  'has only hanging attempts': 5,
} as const

function policyWith(stuckConcurrency: number): DeliveryPolicy & { stuck: number } {
  const policy = {
    ...unlimitedPolicy(1000),
    stuck: stuckConcurrency,
    concurrencyOf: (_namespace: string, kind: string) => (kind === 'stuck' ? policy.stuck : 1000),
    kinds: () =>
      ['stuck', 'k'].flatMap((kind) =>
        kind === 'stuck' && policy.stuck === 0 ? [] : [{ namespace: 'n', kind }],
      ),
  }
  return policy
}

/** Timers of a healthy kind, twenty in each second. */
function healthyTimers(rig: Rig | ClaimRig, fromMs: number) {
  return Array.from({ length: SECONDS * 20 }, (_, index) => rig.set(`well-${index}`, fromMs + index * 50))
}

function stuckTimers(rig: Rig | ClaimRig, inMs: (index: number) => number) {
  return Array.from({ length: STUCK }, (_, index) =>
    rig.set(`stuck-${index}`, inMs(index), { kind: 'stuck' }),
  )
}

/** The largest lateness of a timer of the healthy kind, in milliseconds. */
function worstLateness(
  fired: readonly { readonly key: string; readonly at: number }[],
  fromMs: number,
): number {
  const well = fired.filter(({ key }) => key.startsWith('well'))
  expect(well).toHaveLength(SECONDS * 20)
  return Math.max(...well.map(({ key, at }) => at - (fromMs + Number(key.slice(5)) * 50)))
}

describe.each(['preload', 'lookahead'] as const)(
  'with %s, ten times as many due timers as fit into memory, of a kind that',
  (strategy) => {
    const settings = { strategy, maxTimers: MAX_TIMERS, windowMs: 20_000 }

    describe.each(Object.entries(blockages))('%s', (_name, concurrency) => {
      const makeRig = () => {
        const policy = policyWith(concurrency)
        const rig = new Rig({ settings, policy, holdsAll: true })
        rig.handle = (firing) => {
          if (firing.row.kind !== 'stuck') firing.report(done)
        }
        return { rig, policy }
      }

      it('do not delay another kind when they become due at run time', async () => {
        const { rig } = makeRig()
        await rig.settled(rig.engine.start())
        await rig.clock.advance(5000)
        const from = rig.clock.now() - START + 30_000
        const sets = rig.engine.submit([
          ...healthyTimers(rig, from),
          ...stuckTimers(rig, (index) => from + 10_000 + (index % 100) * 10),
        ])
        await rig.clock.advance(30_000 + SECONDS * 1000 + 5000)
        await sets
        // The engine notices hanging attempts only after a while.
        expect(worstLateness(rig.fired, from)).toBeLessThan(concurrency === 0 ? 50 : 2500)
        expect(rig.engine.shards[0]!.view.inMemory).toBeLessThanOrEqual(MAX_TIMERS)
      })

      it('delay another kind only briefly when they are due at the start', async () => {
        const { rig } = makeRig()
        await rig.settled(rig.engine.open())
        const sets = rig.engine.submit([...stuckTimers(rig, () => -60_000), ...healthyTimers(rig, 0)])
        await rig.settled(rig.engine.start())
        await rig.clock.advance(SECONDS * 1000 + 30_000)
        await sets
        expect(worstLateness(rig.fired, 0)).toBeLessThan(5000)
      })

      it('are not lost: all of them fire once the kind can run', async () => {
        const { rig, policy } = makeRig()
        await rig.settled(rig.engine.start())
        const sets = rig.engine.submit(stuckTimers(rig, (index) => 1000 + index))
        await rig.clock.advance(60_000)
        await sets
        const hung = rig.fired.length
        expect(hung).toBe(concurrency)
        policy.stuck = 1000
        rig.handle = (firing) => firing.report(done)
        rig.engine.refresh()
        await rig.clock.advance(20_000)
        expect(rig.fired).toHaveLength(STUCK)
        expect(rig.fired.every(({ attempt }) => attempt === 1)).toBe(true)
      })

      it('all fire soon once the kind can run, also when they were put back to the same position', async () => {
        const { rig, policy } = makeRig()
        await rig.settled(rig.engine.start())
        const sets = rig.engine.submit(stuckTimers(rig, () => 1000))
        await rig.clock.advance(400_000)
        await sets
        policy.stuck = 1000
        rig.handle = (firing) => firing.report(done)
        rig.engine.refresh()
        await rig.clock.advance(20_000)
        expect(rig.fired).toHaveLength(STUCK)
      })
    })
  },
)

describe.each(['preload', 'lookahead'] as const)(
  'with %s, more due timers than fit into memory, of a slow kind,',
  (strategy) => {
    it('count as caught up when all of them have ended, not when they were put back', async () => {
      const settings = { strategy, maxTimers: MAX_TIMERS, windowMs: 20_000, carryAfterMs: 1000 }
      const policy = { ...unlimitedPolicy(1000), concurrencyOf: () => 5 }
      const rig: Rig = new Rig({ settings, policy, holdsAll: true })
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

describe('with claim, ten times as many due timers as fit into memory, of a kind that', () => {
  it.each(Object.entries(blockages))('%s do not delay another kind', async (_name, concurrency) => {
    const rig = new ClaimRig()
    rig.handle = (firing) => {
      if (firing.row.kind !== 'stuck') firing.report(done)
    }
    const engine = rig.engine('one', {
      policy: policyWith(concurrency),
      settings: { maxTimers: MAX_TIMERS, claimRows: 50 },
    })
    await rig.settled(engine.open())
    const sets = engine.submit([...stuckTimers(rig, () => -60_000), ...healthyTimers(rig, 0)])
    await rig.settled(engine.start())
    await rig.clock.advance(SECONDS * 1000 + 30_000)
    await sets
    expect(worstLateness(rig.fired, 0)).toBeLessThan(100)
  })
})
