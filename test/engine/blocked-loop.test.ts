import { describe, expect, it } from 'vitest'
import { Handlers } from '../../src/delivery/index.js'
import { engineDefaults, type EngineOptions } from '../../src/engine/index.js'
import type { Clock, VirtualClock, Wake, WakeOptions } from '../../src/time/index.js'
import { defaultRetry } from '../../src/timer/index.js'
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
  handlers.add({
    kind: 'k',
    one: ({ key }) => {
      fired.push({ key, at: clock.now() - START, turn: base.clock.now() })
      clock.heldMs += blockMs
    },
    many: undefined,
    concurrency: 10_000,
    rate: undefined,
    timeoutMs: Infinity,
    retry: defaultRetry,
    check: undefined,
  })
  const rig = new Rig({ rig: base, clock, deliver: handlers.deliver, ...options })
  return { rig, clock, fired }
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
})
