import { describe, expect, it } from 'vitest'
import { BackgroundCount } from '../../../src/server/views/background-count.js'
import { VirtualClock } from '../../../src/time/index.js'

function countThatTakes(ms: number) {
  const clock = new VirtualClock()
  let runs = 0
  const count = new BackgroundCount(clock, async () => {
    runs++
    if (ms > 0) await new Promise<void>((resolve) => void clock.wakeAfter(ms, resolve))
    return runs
  })
  return { clock, count, runs: () => runs }
}

describe('a count in the background', () => {
  it('is shared by all callers, and repeated only once it is old', async () => {
    const { clock, count, runs } = countThatTakes(0)
    const [one, two] = await Promise.all([count.newest(), count.newest()])
    expect([one.result, two.result, one.state, runs()]).toEqual([1, 1, 'done', 1])
    await clock.advance(900)
    expect((await count.newest()).result).toBe(1)
    await clock.advance(200)
    expect((await count.newest()).result).toBe(2)
  })

  it('answers with the count before while a long one runs, and counts for at most 1/20 of the time', async () => {
    const { clock, count, runs } = countThatTakes(10_000)
    const first = count.newest()
    await clock.advance(200)
    expect(await first).toEqual({ state: 'running', result: undefined, countedAt: undefined })
    await clock.advance(10_000)
    expect(await count.newest()).toMatchObject({ state: 'done', result: 1 })
    await clock.advance(180_000)
    expect([(await count.newest()).state, runs()]).toEqual(['done', 1])
    await clock.advance(20_000)
    const later = count.newest()
    await clock.advance(200)
    expect([await later, runs()]).toEqual([{ state: 'running', result: 1, countedAt: expect.any(Number) }, 2])
  })

  it('rejects if there is no count at all, and tries again', async () => {
    let isBroken = true
    const clock = new VirtualClock()
    const count = new BackgroundCount(clock, async () => {
      if (isBroken) throw new Error('no store')
      return 1
    })
    await expect(count.newest()).rejects.toThrow('no store')
    isBroken = false
    expect((await count.newest()).result).toBe(1)
  })
})
