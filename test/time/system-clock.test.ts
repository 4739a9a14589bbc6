import { type Machine, SystemClock, systemClock } from 'carillon/time'
import { describe, expect, it } from 'vitest'

/** A machine whose wall clock can be set and whose sleeps end early, as Node's do. */
class FakeMachine implements Machine {
  wall = 1_800_000_000_000
  monotonic = 0
  longestSleep = 0
  readonly #sleeps = new Set<{ at: number; wake: () => void }>()

  wallMs = () => Math.floor(this.wall)
  monotonicMs = () => this.monotonic
  sleep(delayMs: number, wake: () => void) {
    this.longestSleep = Math.max(this.longestSleep, delayMs)
    const sleep = { at: this.monotonic + Math.max(delayMs - 0.7, 0.3), wake }
    this.#sleeps.add(sleep)
    return { cancel: () => void this.#sleeps.delete(sleep) }
  }

  pass(ms: number): void {
    const until = this.monotonic + ms
    for (;;) {
      const next = [...this.#sleeps].toSorted((a, b) => a.at - b.at)[0]
      if (next === undefined || next.at > until) break
      this.#moveTo(next.at)
      this.#sleeps.delete(next)
      next.wake()
    }
    this.#moveTo(until)
  }

  get sleeping(): number {
    return this.#sleeps.size
  }

  #moveTo(at: number): void {
    this.wall += at - this.monotonic
    this.monotonic = at
  }
}

describe('SystemClock', () => {
  it('never wakes early, although the timers of the machine do', () => {
    const machine = new FakeMachine()
    const clock = new SystemClock(machine)
    const dueAt = clock.now() + 500
    let wokenAt = 0
    clock.wakeAt(dueAt, () => (wokenAt = clock.now()))
    machine.pass(499.5)
    expect(wokenAt).toBe(0)
    machine.pass(5)
    expect(wokenAt).toBeGreaterThanOrEqual(dueAt)
    expect(wokenAt - dueAt).toBeLessThanOrEqual(2)
  })

  it('never sleeps for more than a second at a time, even if the due time is beyond 2^31 ms', () => {
    const machine = new FakeMachine()
    const clock = new SystemClock(machine)
    const dueAt = clock.now() + 40 * 86_400_000
    let wokenAt = 0
    clock.wakeAt(dueAt, () => (wokenAt = clock.now()))
    machine.pass(5000)
    machine.wall += 40 * 86_400_000 - 10_000
    machine.pass(4900)
    expect(wokenAt).toBe(0)
    machine.pass(200)
    expect(wokenAt).toBeGreaterThanOrEqual(dueAt)
    expect(machine.longestSleep).toBe(1000)
  })

  it('wakes within about a second after the wall clock is set forward past the due time', () => {
    const machine = new FakeMachine()
    const clock = new SystemClock(machine)
    let woken = false
    clock.wakeAt(clock.now() + 3_600_000, () => (woken = true))
    machine.pass(2500)
    machine.wall += 7_200_000
    machine.pass(1001)
    expect(woken).toBe(true)
  })

  it('keeps waiting when the wall clock is set back', () => {
    const machine = new FakeMachine()
    const clock = new SystemClock(machine)
    const dueAt = clock.now() + 1500
    let wokenAt = 0
    clock.wakeAt(dueAt, () => (wokenAt = clock.now()))
    machine.pass(1400)
    machine.wall -= 60_000
    machine.pass(59_900)
    expect(wokenAt).toBe(0)
    machine.pass(300)
    expect(wokenAt).toBeGreaterThanOrEqual(dueAt)
  })

  it('measures a delay on the monotonic clock, so jumps of the wall clock do not matter', () => {
    const machine = new FakeMachine()
    const clock = new SystemClock(machine)
    let wokenAt = -1
    clock.wakeAfter(3000, () => (wokenAt = clock.monotonic()))
    machine.pass(1000)
    machine.wall += 1e9
    machine.pass(1500)
    expect(wokenAt).toBe(-1)
    machine.wall -= 2e9
    machine.pass(600)
    expect(wokenAt).toBeGreaterThanOrEqual(3000)
    expect(wokenAt).toBeLessThan(3002)
  })

  it('does not wake after cancel, not even after several sleeps', () => {
    const machine = new FakeMachine()
    const clock = new SystemClock(machine)
    let woken = 0
    const wake = clock.wakeAt(clock.now() + 5000, () => woken++)
    machine.pass(2500)
    wake.cancel()
    wake.cancel()
    expect(machine.sleeping).toBe(0)
    machine.pass(10_000)
    expect(woken).toBe(0)
  })

  it('wakes for a due time in the past, but not inside the call', () => {
    const machine = new FakeMachine()
    const clock = new SystemClock(machine)
    let woken = 0
    clock.wakeAt(clock.now() - 1000, () => woken++)
    expect(woken).toBe(0)
    machine.pass(2)
    expect(woken).toBe(1)
  })

  it.each([Number.NaN, Infinity, '5m', undefined])('rejects %s as a due time', (bad) => {
    expect(() => systemClock.wakeAt(bad as never, () => {})).toThrow(
      expect.objectContaining({ code: 'invalid-instant' }),
    )
  })
})

describe('systemClock', () => {
  it('wakes in real time, never early by its own reading', async () => {
    for (let i = 0; i < 20; i++) {
      const dueAt = systemClock.now() + 3 + i
      const from = systemClock.monotonic()
      const delayed = new Promise<number>((resolve) => {
        systemClock.wakeAfter(3 + i, () => resolve(systemClock.monotonic() - from))
      })
      const woken = new Promise<number>((resolve) => {
        systemClock.wakeAt(dueAt, () => resolve(systemClock.now()))
      })
      expect(await woken).toBeGreaterThanOrEqual(dueAt)
      expect(await delayed).toBeGreaterThanOrEqual(3 + i)
    }
  })
})

describe('the end of a turn', () => {
  it('comes after everything else in the turn, without a delay', async () => {
    const heard: string[] = []
    setImmediate(() => {
      void systemClock.turnEnd().then(() => heard.push('end'))
    })
    for (const name of ['a', 'b']) setImmediate(() => void Promise.resolve().then(() => heard.push(name)))
    await new Promise((resolve) => {
      setTimeout(resolve, 20)
    })
    expect(heard).toEqual(['a', 'b', 'end'])
  })
})
