import { describe, expect, it } from 'vitest'
import { Sleeper } from '../../src/async/index.js'
import { type Clock, VirtualClock, type WakeOptions } from '../../src/time/index.js'

/** Counts the sleeps that have ended. */
function counted(...sleeps: readonly Promise<void>[]): { ended: number } {
  const count = { ended: 0 }
  for (const sleep of sleeps) void sleep.then(() => count.ended++)
  return count
}

describe('a sleeper', () => {
  it('ends a sleep after its time and not before', async () => {
    const clock = new VirtualClock()
    const count = counted(new Sleeper(clock).sleep(100))
    await clock.advance(99)
    expect(count.ended).toBe(0)
    await clock.advance(1)
    expect(count.ended).toBe(1)
    expect(clock.pending).toBe(0)
  })

  it('measures by the monotonic clock, so a jump of the wall clock does not end a sleep', async () => {
    const clock = new VirtualClock()
    const count = counted(new Sleeper(clock).sleep(100))
    clock.jump(3_600_000)
    await clock.advance(99)
    expect(count.ended).toBe(0)
    await clock.advance(1)
    expect(count.ended).toBe(1)
  })

  it('ends all sleeps under way with wakeAll, and later sleeps take their time', async () => {
    const clock = new VirtualClock()
    const sleeper = new Sleeper(clock)
    const early = counted(sleeper.sleep(100), sleeper.sleep(200))
    sleeper.wakeAll()
    const later = counted(sleeper.sleep(50))
    await clock.advance(0)
    expect(early.ended).toBe(2)
    expect(later.ended).toBe(0)
    expect(clock.pending).toBe(1)
    await clock.advance(50)
    expect(later.ended).toBe(1)
  })

  it('ends all sleeps under way and all later ones with cancelAll', async () => {
    const clock = new VirtualClock()
    const sleeper = new Sleeper(clock)
    const early = counted(sleeper.sleep(100), sleeper.sleep(200))
    sleeper.cancelAll()
    const later = counted(sleeper.sleep(100))
    await clock.advance(0)
    expect([early.ended, later.ended]).toEqual([2, 1])
    expect(clock.pending).toBe(0)
  })

  it('does not keep the process alive', () => {
    const asked: (WakeOptions | undefined)[] = []
    const clock: Clock = new VirtualClock()
    const wakeAfter = clock.wakeAfter.bind(clock)
    clock.wakeAfter = (delayMs, wake, options) => {
      asked.push(options)
      return wakeAfter(delayMs, wake, options)
    }
    void new Sleeper(clock).sleep(100)
    expect(asked).toEqual([{ keepAlive: false }])
  })
})
