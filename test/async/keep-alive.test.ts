import { describe, expect, it } from 'vitest'
import { KeepAlive } from '../../src/async/index.js'
import { type Clock, VirtualClock, type WakeOptions } from '../../src/time/index.js'

describe('a keep-alive', () => {
  it('always has one wake pending from start to stop', async () => {
    const clock = new VirtualClock()
    const keepAlive = new KeepAlive(clock)
    expect(clock.pending).toBe(0)
    keepAlive.start()
    expect(clock.pending).toBe(1)
    await clock.advance('3h')
    expect(clock.pending).toBe(1)
    keepAlive.stop()
    expect(clock.pending).toBe(0)
  })

  it('has only one wake pending when it is started twice', () => {
    const clock = new VirtualClock()
    const keepAlive = new KeepAlive(clock)
    keepAlive.start()
    keepAlive.start()
    expect(clock.pending).toBe(1)
    keepAlive.stop()
    expect(clock.pending).toBe(0)
  })

  it('can be stopped before it is started, and twice', () => {
    const clock = new VirtualClock()
    const keepAlive = new KeepAlive(clock)
    keepAlive.stop()
    keepAlive.start()
    keepAlive.stop()
    keepAlive.stop()
    expect(clock.pending).toBe(0)
  })

  it('asks for wakes that keep the process alive', () => {
    const asked: (WakeOptions | undefined)[] = []
    const clock: Clock = new VirtualClock()
    const wakeAfter = clock.wakeAfter.bind(clock)
    clock.wakeAfter = (delayMs, wake, options) => {
      asked.push(options)
      return wakeAfter(delayMs, wake, options)
    }
    const keepAlive = new KeepAlive(clock)
    keepAlive.start()
    expect(asked.map((options) => options?.keepAlive ?? true)).toEqual([true])
  })
})
