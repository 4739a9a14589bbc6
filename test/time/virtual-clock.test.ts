import { VirtualClock } from 'carillon/time'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

describe('VirtualClock', () => {
  it('stands still until it is advanced', async () => {
    const clock = new VirtualClock({ start: 1000 })
    expect(clock.now()).toBe(1000)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(clock.now()).toBe(1000)
    await clock.advance('1m')
    expect(clock.now()).toBe(61_000)
    expect(clock.monotonic()).toBe(60_000)
  })

  it('wakes in due order, each wake at its own instant, and ties in the order of the calls', async () => {
    const clock = new VirtualClock({ start: 0 })
    const seen: string[] = []
    const note = (name: string) => () => void seen.push(`${name}@${clock.now()}`)
    clock.wakeAt(30, note('c'))
    clock.wakeAt(10, note('a'))
    clock.wakeAfter(10, note('b'))
    clock.wakeAt(500, note('never'))
    expect(await clock.advance(100)).toBe(3)
    expect(seen).toEqual(['a@10', 'b@10', 'c@30'])
    expect(clock.now()).toBe(100)
    expect(clock.pending).toBe(1)
    expect(clock.untilNext()).toBe(400)
  })

  it('lets promises run between wakes, so that chains of sleeps pass in one advance', async () => {
    const clock = new VirtualClock({ start: 0 })
    const sleep = (ms: number) => new Promise<void>((resolve) => void clock.wakeAfter(ms, resolve))
    const seen: number[] = []
    const chain = (async () => {
      for (let i = 0; i < 5; i++) {
        await sleep(100)
        await Promise.resolve()
        seen.push(clock.now())
      }
    })()
    await clock.advance('1s')
    expect(seen).toEqual([100, 200, 300, 400, 500])
    await chain
  })

  it('advances over fourteen days in one go', async () => {
    const clock = new VirtualClock({ start: 0 })
    let woken = 0
    clock.wakeAfter(14 * 86_400_000, () => woken++)
    await clock.advance('14d')
    expect(woken).toBe(1)
  })

  it('does not run a cancelled wake', () => {
    const clock = new VirtualClock({ start: 0 })
    let woken = 0
    const first = clock.wakeAt(10, () => second.cancel())
    const second = clock.wakeAt(10, () => woken++)
    clock.advanceSync(20)
    first.cancel()
    expect(woken).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('changes only the wall clock in a jump, forward or back', () => {
    const clock = new VirtualClock({ start: 0 })
    const seen: string[] = []
    clock.wakeAt(1000, () => seen.push(`wall ${clock.monotonic()}`))
    clock.wakeAfter(1000, () => seen.push(`monotonic ${clock.monotonic()}`))
    clock.jump(-500)
    clock.advanceSync(1400)
    expect(seen).toEqual(['monotonic 1000'])
    expect(clock.now()).toBe(900)
    clock.jump(3600_000)
    expect(seen).toHaveLength(1)
    clock.advanceSync(0)
    expect(seen).toEqual(['monotonic 1000', 'wall 1400'])
  })

  it('drifts, independently of its forks', () => {
    const clock = new VirtualClock({ start: 0 })
    const fast = clock.fork()
    const slow = new VirtualClock({ beside: clock, start: 5000 })
    fast.drift(1.5)
    slow.drift(0.5)
    const seen: string[] = []
    clock.wakeAt(600, () => seen.push('true'))
    fast.wakeAt(600, () => seen.push('fast'))
    slow.wakeAfter(600, () => seen.push('slow'))
    clock.advanceSync(1200)
    expect(seen).toEqual(['fast', 'true', 'slow'])
    expect([clock.now(), fast.now(), slow.now()]).toEqual([1200, 1800, 5600])
  })

  it('wakes exactly once and never early in random sequences of jumps and drifts', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('jump' as const), by: fc.integer({ min: -5000, max: 5000 }) }),
      fc.record({ do: fc.constant('drift' as const), by: fc.double({ min: 0.25, max: 4, noNaN: true }) }),
      fc.record({ do: fc.constant('wait' as const), by: fc.integer({ min: 0, max: 3000 }) }),
      fc.record({ do: fc.constant('wake' as const), by: fc.integer({ min: 0, max: 8000 }) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clock = new VirtualClock({ start: 1_000_000 })
        let asked = 0
        let woken = 0
        for (const { do: what, by } of steps) {
          if (what === 'jump') clock.jump(by)
          else if (what === 'drift') clock.drift(by)
          else if (what === 'wait') clock.advanceSync(by)
          else {
            asked++
            const dueAt = clock.now() + by
            clock.wakeAt(dueAt, () => {
              woken++
              expect(clock.now()).toBeGreaterThanOrEqual(dueAt)
            })
          }
        }
        clock.advanceSync('10d')
        expect(woken).toBe(asked)
      }),
    )
  })

  it('rejects an advance inside an advance', async () => {
    const clock = new VirtualClock()
    let refusal: unknown
    clock.wakeAfter(1, () => {
      try {
        clock.advanceSync(1)
      } catch (error) {
        refusal = error
      }
    })
    await clock.advance(5)
    expect(refusal).toMatchObject({ code: 'clock-busy' })
  })

  it('throws the error of a wake, and can be advanced again', () => {
    const clock = new VirtualClock({ start: 0 })
    clock.wakeAt(10, () => {
      throw new Error('ouch')
    })
    let woken = 0
    clock.wakeAt(20, () => woken++)
    expect(() => clock.advanceSync(100)).toThrow('ouch')
    expect(clock.now()).toBe(10)
    clock.advanceSync(100)
    expect(woken).toBe(1)
  })

  it('throws if a wake asks for another one at the same instant forever', () => {
    const clock = new VirtualClock()
    const again = () => void clock.wakeAfter(0, again)
    again()
    expect(() => clock.advanceSync(1)).toThrow(expect.objectContaining({ code: 'clock-stuck' }))
  })

  it('rejects invalid input', () => {
    expect(() => new VirtualClock({ begin: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'unknown-option' }),
    )
    expect(() => new VirtualClock({ start: Number.NaN })).toThrow(
      expect.objectContaining({ code: 'invalid-instant' }),
    )
    expect(() => new VirtualClock().drift(0)).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    expect(() => new VirtualClock().advanceSync('5 parsecs')).toThrow(
      expect.objectContaining({ code: 'invalid-duration' }),
    )
  })
})
