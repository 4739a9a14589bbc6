import { describe, expect, it } from 'vitest'
import { Gate } from '../../../src/testing/simulation/gate.js'
import { GatedClock } from '../../../src/testing/simulation/gated-clock.js'
import { VirtualClock } from '../../../src/time/index.js'

function setUp() {
  const clock = new VirtualClock()
  const thrown: unknown[] = []
  const gate = new Gate(clock, (error) => thrown.push(error))
  return { clock, gate, thrown, seen: [] as string[], inside: new GatedClock(clock, gate) }
}

describe('a gate', () => {
  it('holds wakes back during a pause and lets them come in order, each with its promises', async () => {
    const { clock, gate, seen, inside } = setUp()
    for (const name of ['a', 'b', 'c']) {
      inside.wakeAfter(10, () => {
        seen.push(name)
        void Promise.resolve().then(() => seen.push(`${name} later`))
      })
    }
    gate.hold()
    await clock.advance(100)
    expect(seen).toEqual([])
    gate.release()
    gate.enter(() => seen.push('last'))
    await clock.advance(0)
    expect(seen).toEqual(['a', 'a later', 'b', 'b later', 'c', 'c later', 'last'])
  })

  it('keeps reading the time during a pause', async () => {
    const { clock, gate, inside } = setUp()
    gate.hold()
    const before = inside.now()
    await clock.advance(100)
    expect(inside.now() - before).toBe(100)
  })

  it('lets a wake be called off that already stands behind it', async () => {
    const { clock, gate, seen, inside } = setUp()
    const wake = inside.wakeAfter(10, () => seen.push('came'))
    gate.hold()
    await clock.advance(100)
    wake.cancel()
    gate.release()
    await clock.advance(0)
    expect(seen).toEqual([])
  })

  it('can be held again while it lets things through', async () => {
    const { clock, gate, seen } = setUp()
    gate.hold()
    gate.enter(() => gate.hold())
    gate.enter(() => seen.push('second'))
    gate.release()
    await clock.advance(10)
    expect(seen).toEqual([])
    gate.release()
    await clock.advance(10)
    expect(seen).toEqual(['second'])
  })

  it('lets nothing pass once it is shut', async () => {
    const { clock, gate, seen, inside } = setUp()
    inside.wakeAfter(10, () => seen.push('wake'))
    gate.hold()
    gate.enter(() => seen.push('held'))
    gate.shut()
    gate.release()
    gate.enter(() => seen.push('late'))
    await clock.advance(100)
    expect(seen).toEqual([])
    expect(gate.isShut).toBe(true)
  })

  it('tells of what was thrown inside and goes on', async () => {
    const { clock, thrown, seen, inside } = setUp()
    inside.wakeAfter(1, () => {
      throw new Error('inside')
    })
    inside.wakeAfter(2, () => seen.push('next'))
    await clock.advance(10)
    expect(thrown).toEqual([new Error('inside')])
    expect(seen).toEqual(['next'])
  })
})
