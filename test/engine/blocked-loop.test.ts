import { describe, expect, it } from 'vitest'
import { Handlers } from '../../src/delivery/index.js'
import { DUE_AT_ONCE } from '../../src/engine/defaults.js'
import { engineDefaults, type EngineOptions } from '../../src/engine/index.js'
import type { Clock, VirtualClock, Wake, WakeOptions } from '../../src/time/index.js'
import { defaultRetry, type Deliver, done } from '../../src/timer/index.js'
import { Rig, START } from './rig.js'

/** A clock for a blocked event loop: its readings advance while nothing else in its process runs. */
class HeldClock implements Clock {
  heldMs = 0
  readonly #clock: VirtualClock

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now() + this.heldMs
  }

  monotonic(): number {
    return this.#clock.monotonic() + this.heldMs
  }

  wakeAt(dueAt: number, wake: () => void, options?: WakeOptions): Wake {
    return this.#clock.wakeAt(dueAt - this.heldMs, wake, options)
  }

  wakeAfter(delayMs: number, wake: () => void, options?: WakeOptions): Wake {
    return this.#clock.wakeAfter(delayMs, wake, options)
  }

  /** Lets the rest of the world catch up with this clock. */
  turnEnd(): Promise<void> {
    const { heldMs } = this
    return new Promise((resolve) => {
      this.#clock.wakeAfter(heldMs, () => {
        this.heldMs -= heldMs
        resolve()
      })
    })
  }
}

function blocking(options: Partial<EngineOptions>, blockMs: number) {
  const base = new Rig()
  const clock = new HeldClock(base.clock)
  const fired: { readonly key: string; readonly at: number; readonly turn: number }[] = []
  const handlers = new Handlers({ clock, random: () => 0.5, onFailure: () => undefined })
  const others: typeof fired = []
  const common = {
    many: undefined,
    concurrency: 10_000,
    rate: undefined,
    timeoutMs: Infinity,
    retry: defaultRetry,
    check: undefined,
  }
  handlers.add({
    ...common,
    kind: 'k',
    one: ({ key }) => {
      fired.push({ key, at: clock.now() - START, turn: base.clock.now() })
      clock.heldMs += blockMs
    },
  })
  handlers.add({
    ...common,
    kind: 'other',
    one: ({ key }) => others.push({ key, at: clock.now() - START, turn: base.clock.now() }),
  })
  const rig = new Rig({ rig: base, clock, deliver: handlers.deliver, ...options })
  return { rig, clock, fired, others }
}

describe('handlers that block the event loop', () => {
  it('start no further attempt of their batch once the lease is over', async () => {
    const { leaseMs, leaseMarginMs } = engineDefaults
    const { rig, fired } = blocking({}, 4000)
    await rig.settled(rig.engine.start())
    await rig.submit(...Array.from({ length: 15 }, (_, i) => rig.set(`k${i}`, 1000)))
    await rig.clock.advance(1000)
    // A renewal of the lease has no effect within the blocked turn.
    const inOneTurn = fired.filter(({ at }) => at < 1000 + leaseMs - leaseMarginMs)
    expect(fired).toEqual(inOneTurn)
    expect(fired.length).toBeLessThan(5)
  })

  it('give the rest of their batch back, and all of it starts in later turns', async () => {
    const { rig, fired } = blocking({}, 15)
    await rig.settled(rig.engine.start())
    await rig.submit(...Array.from({ length: 900 }, (_, i) => rig.set(`k${i}`, 1000)))
    await rig.clock.advance('60s')
    expect(new Set(fired.map(({ key }) => key)).size).toBe(900)
    expect(fired).toHaveLength(900)
    // One handler of 15 ms uses up the start budget of a turn.
    expect(new Set(fired.map(({ turn }) => turn)).size).toBe(900)
  })

  it('leave due timers that no lane has taken to later turns, as batches of the usual size', async () => {
    const base = new Rig({ shardCount: 1 })
    const clock = new HeldClock(base.clock)
    const batches: { readonly size: number; readonly turn: number }[] = []
    const keys = new Set<string>()
    const deliver: Deliver = (firings) => {
      batches.push({ size: firings.length, turn: base.clock.now() })
      clock.heldMs += 6
      for (const firing of firings) {
        keys.add(firing.row.key)
        firing.report(done)
      }
    }
    const rig = new Rig({ rig: base, clock, deliver, policy: { concurrencyOf: () => Infinity } })
    await rig.settled(rig.engine.start())
    await rig.submit(...Array.from({ length: 5000 }, (_, i) => rig.set(`k${i}`, 1000)))
    await rig.submit(rig.cancel('k0'))
    await rig.clock.advance('10s')
    expect(keys.size).toBe(4999)
    expect(batches.reduce((sum, { size }) => sum + size, 0)).toBe(4999)
    expect(Math.max(...batches.map(({ size }) => size))).toBe(DUE_AT_ONCE)
    // Two batches of 6 ms use up the start budget of a turn, and the next turn follows at once.
    const turns = [...new Set(batches.map(({ turn }) => turn))]
    expect(turns).toHaveLength(3)
    expect(turns[2]! - turns[0]!).toBeLessThanOrEqual(24)
  })

  it('do not start a timer that was cancelled while it waited for a later turn', async () => {
    const base = new Rig({ shardCount: 1 })
    const clock = new HeldClock(base.clock)
    const keys: string[] = []
    let cancelled: Promise<unknown> | undefined
    const deliver: Deliver = (firings) => {
      clock.heldMs += 20
      cancelled ??= rig.engine.submit([rig.cancel('k2999')])
      for (const firing of firings) {
        keys.push(firing.row.key)
        firing.report(done)
      }
    }
    const rig = new Rig({ rig: base, clock, deliver, policy: { concurrencyOf: () => Infinity } })
    await rig.settled(rig.engine.start())
    await rig.submit(...Array.from({ length: 3000 }, (_, i) => rig.set(`k${i}`, 1000)))
    await rig.clock.advance('10s')
    expect(await cancelled).toMatchObject([{ outcome: 'cancelled' }])
    expect(keys).toHaveLength(2999)
    expect(keys).not.toContain('k2999')
  })

  it('do not delay a timer of another kind that is due after all of theirs', async () => {
    const { rig, fired, others } = blocking({}, 15)
    await rig.settled(rig.engine.start())
    await rig.submit(...Array.from({ length: 3000 }, (_, i) => rig.set(`k${i}`, 1000)))
    await rig.submit({ ...rig.set('other', 1001), kind: 'other' })
    await rig.clock.advance('60s')
    expect(fired).toHaveLength(3000)
    expect(others).toHaveLength(1)
    // It waits for the handler that blocks the turn in which it becomes due, and for a turn of the slow kind.
    expect(others[0]!.at).toBeLessThan(1000 + 10 * 15)
  })
})
