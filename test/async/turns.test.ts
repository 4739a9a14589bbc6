import { describe, expect, it } from 'vitest'
import { Turns } from '../../src/async/index.js'
import { systemClock } from '../../src/time/index.js'

describe('turns', () => {
  it('lets at most one of many works take a step in a turn of the event loop', async () => {
    const turns = new Turns(() => systemClock.turnEnd())
    let turn = 0
    const state = { isCounting: true }
    const count = async (): Promise<void> => {
      while (state.isCounting) {
        await systemClock.turnEnd()
        turn++
      }
    }
    const counting = count()
    const stepsIn = new Map<number, number>()
    const work = async (): Promise<void> => {
      for (let step = 0; step < 20; step++) {
        await turns.next()
        stepsIn.set(turn, (stepsIn.get(turn) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: 10 }, work))
    state.isCounting = false
    await counting
    expect(Math.max(...stepsIn.values())).toBe(1)
    expect([...stepsIn.values()].reduce((sum, steps) => sum + steps, 0)).toBe(200)
  })
})
