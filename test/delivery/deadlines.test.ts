import { describe, expect, it } from 'vitest'
import { Deadlines, type Timed } from '../../src/delivery/webhook/deadlines.js'
import { VirtualClock } from '../../src/time/index.js'

describe('deadlines', () => {
  function setUp() {
    const clock = new VirtualClock({ start: 0 })
    const deadlines = new Deadlines(clock, 1000)
    const late: string[] = []
    const begin = (name: string): Timed => {
      const timed: Timed = {
        dueAt: 0,
        before: undefined,
        after: undefined,
        late: () => {
          late.push(`${name} at ${clock.now()}`)
          deadlines.end(timed)
        },
      }
      deadlines.begin(timed)
      return timed
    }
    return { clock, deadlines, late, begin }
  }

  it('calls `late` for each after its time, but not for those that have ended before', async () => {
    const { clock, deadlines, late, begin } = setUp()
    const first = begin('first')
    begin('second')
    await clock.advance(300)
    begin('third')
    const fourth = begin('fourth')
    const last = begin('last')
    deadlines.end(first)
    deadlines.end(fourth)
    await clock.advance(300)
    deadlines.end(last)
    await clock.advance(3000)
    expect(late).toEqual(['second at 1000', 'third at 1300'])
  })

  it('sets the alarm again after a time in which nothing was under way', async () => {
    const { clock, deadlines, late, begin } = setUp()
    deadlines.end(begin('first'))
    await clock.advance(500)
    begin('second')
    await clock.advance(5000)
    begin('third')
    await clock.advance(5000)
    expect(late).toEqual(['second at 1500', 'third at 6500'])
  })

  it('allows a late one to begin another', async () => {
    const { clock, deadlines, late, begin } = setUp()
    const timed: Timed = {
      dueAt: 0,
      before: undefined,
      after: undefined,
      late: () => {
        deadlines.end(timed)
        begin('next')
      },
    }
    deadlines.begin(timed)
    await clock.advance(5000)
    expect(late).toEqual(['next at 2000'])
  })
})
