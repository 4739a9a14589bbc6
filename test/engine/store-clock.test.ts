import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { StoreClock } from '../../src/engine/cluster/store-clock.js'
import { VirtualClock } from '../../src/time/index.js'

const HOUR_MS = 3_600_000

describe('store time, as an instance measures it,', () => {
  it('is never ahead of the store, for any wall clock and any delay of heartbeats', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -HOUR_MS, max: HOUR_MS }),
        fc.array(
          fc.record({ there: fc.nat(400), back: fc.nat(400), jump: fc.integer({ min: -5000, max: 5000 }) }),
          {
            minLength: 1,
            maxLength: 8,
          },
        ),
        async (skewMs, beats) => {
          const store = new VirtualClock()
          const machine = store.fork()
          machine.jump(skewMs)
          const time = new StoreClock(machine)
          for (const { there, back, jump } of beats) {
            const sentAt = machine.monotonic()
            await store.advance(there)
            const storeNow = store.now()
            await store.advance(back)
            time.measure({ storeNow, sentAt, answeredAt: machine.monotonic() })
            expect(time.now()).toBeLessThanOrEqual(store.now())
            // Behind by no more than the way back of this heartbeat, plus the drift since.
            expect(time.now()).toBeGreaterThanOrEqual(store.now() - back - 2)
            machine.jump(jump)
            await store.advance(2000)
            expect(time.now()).toBeLessThanOrEqual(store.now())
          }
        },
      ),
    )
  })

  it('wakes when the clock of the store reaches the due time, not when the wall clock does', async () => {
    const store = new VirtualClock()
    const machine = store.fork()
    machine.jump(HOUR_MS)
    const time = new StoreClock(machine)
    const measure = (): void =>
      time.measure({ storeNow: store.now(), sentAt: machine.monotonic(), answeredAt: machine.monotonic() })
    measure()
    const dueAt = store.now() + 60_000
    let wokenAt: number | undefined
    time.wakeAt(dueAt, () => (wokenAt = store.now()))
    await store.advance(30_000)
    // The store's clock is set forward, so the wake comes sooner.
    store.jump(20_000)
    machine.jump(-20_000)
    measure()
    await store.advance(10_010)
    expect(wokenAt).toBeGreaterThanOrEqual(dueAt)
    expect(wokenAt).toBeLessThan(dueAt + 10)
  })

  it('shows how far the wall clock is off, less what the delay of a heartbeat may explain', () => {
    const store = new VirtualClock()
    const machine = store.fork()
    const time = new StoreClock(machine)
    const measured = (skewMs: number, roundTripMs: number): number => {
      machine.jump(skewMs)
      const answeredAt = machine.monotonic()
      for (let i = 0; i < 3; i++)
        time.measure({ storeNow: store.now(), sentAt: answeredAt - roundTripMs, answeredAt })
      machine.jump(-skewMs)
      return time.offsetMs
    }
    expect(measured(0, 0)).toBe(0)
    expect(measured(30, 40)).toBe(0)
    expect(measured(1000, 100)).toBeCloseTo(-900, -1)
    expect(measured(-1000, 100)).toBeCloseTo(1000, -1)
  })
})
