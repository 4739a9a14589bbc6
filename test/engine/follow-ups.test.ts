import { describe, expect, it } from 'vitest'
import type { Carriage, StoreCall } from '../../src/store/index.js'
import type { VirtualClock } from '../../src/time/index.js'
import type { Firing } from '../../src/timer/index.js'
import { ClaimRig } from './claim-rig.js'
import { FaultyCarriage } from './faulty-carriage.js'
import { Rig } from './rig.js'

const strategies = ['preload', 'lookahead'] as const

/** The next occurrence is due `ms` after this one was. */
function every(ms: number): (firing: Firing) => void {
  return (firing) => firing.report({ type: 'next', dueAt: firing.row.dueAt + ms })
}

/** Carries each settlement in `ms`, and everything else at once. */
class SlowSettlements implements Carriage {
  clock: VirtualClock | undefined
  readonly #ms: number

  constructor(ms: number) {
    this.#ms = ms
  }

  async carry<Answer>(call: StoreCall, commit: () => Answer): Promise<Answer> {
    if (call.name !== 'settle') return commit()
    await new Promise<void>((resolve) => this.clock!.wakeAfter(this.#ms, resolve))
    return commit()
  }

  wake(deliver: () => void): void {
    queueMicrotask(deliver)
  }
}

/** 100, 200, 300 and so on. */
function steps(count: number, ms: number): number[] {
  return Array.from({ length: count }, (_, index) => (index + 1) * ms)
}

describe.each(strategies)('an engine with %s', (strategy) => {
  it('starts every occurrence of a short interval at its time', async () => {
    const rig = new Rig({ settings: { strategy } })
    rig.handle = every(100)
    await rig.engine.start()
    await rig.submit(rig.set('a', 100))
    await rig.clock.advance(3000)
    expect(rig.fired.slice(0, 29).map(({ at }) => at)).toEqual(steps(29, 100))
  })

  it('starts a retry at its time', async () => {
    const rig = new Rig({ settings: { strategy } })
    rig.handle = (firing) => {
      if (firing.attempt === 3) firing.report({ type: 'done' })
      else firing.report({ type: 'retry', dueAt: firing.firedAt + 50, reason: 'failed' })
    }
    await rig.engine.start()
    await rig.submit(rig.set('a', 10))
    await rig.clock.advance(2000)
    expect(rig.fired.map(({ at, attempt }) => [at, attempt])).toEqual([
      [10, 1],
      [60, 2],
      [110, 3],
    ])
  })

  it('starts the occurrence after a dead one at its time', async () => {
    const rig = new Rig({ settings: { strategy } })
    rig.handle = (firing) =>
      firing.report({ type: 'dead', reason: 'no', next: { dueAt: firing.row.dueAt + 100 } })
    await rig.engine.start()
    await rig.submit(rig.set('a', 100))
    await rig.clock.advance(1050)
    expect(rig.fired.map(({ at }) => at)).toEqual(steps(10, 100))
  })

  it('starts the occurrence after a dead one although the answer to the settlement was lost', async () => {
    const carriage = new FaultyCarriage()
    const rig = new Rig({ settings: { strategy, retryMs: 10 }, carriage })
    rig.handle = (firing) =>
      firing.report({ type: 'dead', reason: 'no', next: { dueAt: firing.row.dueAt + 5000 } })
    await rig.settled(rig.engine.start())
    await rig.submit(rig.set('a', 100))
    let isLost = false
    carriage.loses = (call) => {
      if (isLost || call.name !== 'settle') return false
      isLost = true
      return true
    }
    await rig.clock.advance(6000)
    expect(isLost).toBe(true)
    expect(rig.fired.map(({ at }) => at)).toEqual([100, 5100])
  })

  it('asks early enough for a store that is slow to settle', async () => {
    const carriage = new SlowSettlements(30)
    const rig = new Rig({ settings: { strategy }, carriage })
    carriage.clock = rig.clock
    rig.handle = every(100)
    await rig.engine.start()
    await rig.submit(rig.set('a', 100))
    await rig.clock.advance(3000)
    const at = rig.fired.map((fired) => fired.at)
    // The first settlement may be late, because nothing has been measured before it. So may those that follow at once.
    expect(at.filter((time) => time >= 500 && time < 2900)).toEqual(steps(24, 100).map((time) => time + 400))
  })

  it('shares settlements among many short follow-ups', async () => {
    const rig = new Rig({ settings: { strategy }, holdsAll: true })
    rig.handle = every(100)
    await rig.engine.open()
    // 200 timers, two in each millisecond.
    await rig.submit(...Array.from({ length: 200 }, (_, index) => rig.set(`k${index}`, 100 + (index >> 1))))
    await rig.engine.start()
    await rig.clock.advance(2000)
    expect(rig.fired.length).toBeGreaterThan(3500)
    // Each settlement takes the outcomes of about 75 ms.
    expect(rig.eventsOf('settled').length).toBeLessThan(40)
  })

  it('leaves time between settlements for follow-ups that are due at once', async () => {
    const rig = new Rig({ settings: { strategy } })
    rig.handle = (firing) => firing.report({ type: 'next', dueAt: firing.firedAt })
    await rig.engine.start()
    await rig.submit(rig.set('a', 0))
    await rig.clock.advance(1000)
    expect(rig.fired.length).toBeGreaterThan(100)
    expect(rig.eventsOf('settled').length).toBeLessThanOrEqual(201)
  })

  it('does not settle earlier for a follow-up that is due after the next settlement', async () => {
    const rig = new Rig({ settings: { strategy } })
    rig.handle = every(5000)
    await rig.engine.start()
    await rig.submit(rig.set('a', 100))
    await rig.clock.advance(900)
    expect(rig.eventsOf('settled')).toHaveLength(0)
    await rig.clock.advance(10_000)
    expect(rig.eventsOf('settled')).toHaveLength(2)
    expect(rig.fired.map(({ at }) => at)).toEqual([100, 5100, 10_100])
  })
})

describe('an engine with claim', () => {
  it('starts every occurrence of a short interval at its time', async () => {
    const rig = new ClaimRig()
    rig.handle = every(100)
    const engine = rig.engine('one')
    await engine.start()
    await rig.submit(engine, rig.set('a', 100))
    await rig.clock.advance(3000)
    // It knows the store's clock to a millisecond, and is never early.
    const late = rig.fired.slice(0, 29).map(({ at }, index) => at - (index + 1) * 100)
    expect(late).toHaveLength(29)
    expect(late.filter((ms) => ms < 0 || ms > 1)).toEqual([])
  })
})
