import { describe, expect, it } from 'vitest'
import { Deadlines } from '../../src/async/index.js'
import { VirtualClock } from '../../src/time/index.js'

describe('the deadlines of calls', () => {
  it('end each call at its deadline, whatever the order in which they began', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock)
    const over: string[] = []
    for (const timeoutMs of [300, 100, 200, 100]) {
      deadlines.begin(timeoutMs).onOver(() => over.push(`${timeoutMs} at ${clock.monotonic()}`))
    }
    await clock.advance('1s')
    expect(over).toEqual(['100 at 100', '100 at 100', '200 at 200', '300 at 300'])
  })

  it('never end a call early, and at most 20 ms late', async () => {
    const clock = new VirtualClock()
    await clock.advance(7)
    const deadlines = new Deadlines(clock)
    const lateMs: number[] = []
    for (let timeoutMs = 1; timeoutMs <= 100; timeoutMs++) {
      const limit = deadlines.begin(timeoutMs)
      limit.onOver(() => lateMs.push(clock.monotonic() - limit.deadline))
    }
    await clock.advance('1s')
    expect(lateMs).toHaveLength(100)
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...lateMs)).toBeLessThan(20)
  })

  it('need one wake for a hundred thousand calls, and none without a call', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock)
    const limits = Array.from({ length: 100_000 }, (_, index) => deadlines.begin(10_000 + (index % 500)))
    expect(clock.pending).toBe(1)
    for (const limit of limits.slice(1)) deadlines.end(limit)
    expect(clock.pending).toBe(1)
    deadlines.end(limits[0]!)
    await clock.turnEnd()
    expect(clock.pending).toBe(0)
    expect(await clock.advance('1m')).toBe(0)
    expect(limits.some(({ isOver }) => isOver)).toBe(false)
  })

  it('go on after the earliest call has ended', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock)
    const early = deadlines.begin(100)
    const late = deadlines.begin(200)
    deadlines.end(early)
    await clock.advance('1s')
    expect([early.isOver, late.isOver]).toEqual([false, true])
  })

  it('end a call whose signal is aborted, with the reason as the cause', () => {
    const deadlines = new Deadlines(new VirtualClock())
    const abort = new AbortController()
    const limit = deadlines.begin(1000, abort.signal)
    expect(limit.isOver).toBe(false)
    abort.abort('enough')
    expect(limit.isOver).toBe(true)
    expect(limit.notDone()).toMatchObject({ name: 'LimitError', code: 'not-done', cause: 'enough' })
    expect(limit.unknownOutcome()).toMatchObject({ code: 'unknown-outcome', cause: 'enough' })
    expect(deadlines.begin(1000, abort.signal).isOver).toBe(true)
  })

  it('no longer watch the signal of a call that has its answer', () => {
    const deadlines = new Deadlines(new VirtualClock())
    const abort = new AbortController()
    const limit = deadlines.begin(1000, abort.signal)
    deadlines.end(limit)
    abort.abort()
    expect(limit.isOver).toBe(false)
  })
})

describe('the limit of a call', () => {
  it('ends a wait that would not end, and hides what comes later', async () => {
    const clock = new VirtualClock()
    const limit = new Deadlines(clock).begin(100)
    const failing = new Promise<string>((_, reject) => {
      clock.wakeAfter(500, () => reject(new Error('too late to matter')))
    })
    const waiting = limit.orOver(failing)
    await clock.advance(100)
    expect(await waiting).toBeUndefined()
    await clock.advance(500)
    expect(await limit.orOver(Promise.resolve('late'))).toBeUndefined()
  })

  it('passes answers and errors on that come in time', async () => {
    const limit = new Deadlines(new VirtualClock()).begin(100)
    expect(await limit.orOver(Promise.resolve('answer'))).toBe('answer')
    await expect(limit.orOver(Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  })

  it('says that nothing happened until something was sent', async () => {
    const clock = new VirtualClock()
    const deadlines = new Deadlines(clock)
    const [idle, acting] = [deadlines.begin(100), deadlines.begin(100)]
    acting.act()
    await clock.advance(100)
    expect(idle.error()).toMatchObject({ code: 'not-done' })
    expect(acting.error()).toMatchObject({ code: 'unknown-outcome' })
    // What is over must not begin to act.
    expect(() => idle.act()).toThrow(expect.objectContaining({ code: 'not-done' }))
  })
})
