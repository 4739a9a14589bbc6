import { describe, expect, it } from 'vitest'
import { Gate } from '../../../src/testing/simulation/world/gate.js'
import { GatedClock } from '../../../src/testing/simulation/world/gated-clock.js'
import { VirtualClock } from '../../../src/time/index.js'

function setUp() {
  const clock = new VirtualClock()
  const thrown: unknown[] = []
  const gate = new Gate(clock, (error) => thrown.push(error))
  return { clock, gate, thrown, seen: [] as string[], inside: new GatedClock(clock, gate) }
}

describe('the gate of a simulated process', () => {
  it('holds wakes back during a pause and then runs them in order, each with its promises', async () => {
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

  it('lets the clock be read during a pause', async () => {
    const { clock, gate, inside } = setUp()
    gate.hold()
    const before = inside.now()
    await clock.advance(100)
    expect(inside.now() - before).toBe(100)
  })

  it('lets a wake be cancelled that already waits', async () => {
    const { clock, gate, seen, inside } = setUp()
    const wake = inside.wakeAfter(10, () => seen.push('came'))
    gate.hold()
    await clock.advance(100)
    wake.cancel()
    gate.release()
    await clock.advance(0)
    expect(seen).toEqual([])
  })

  it('can be held again while it runs what waited', async () => {
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

  it('reports an error that is thrown inside and continues', async () => {
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

describe('a busy simulated process', () => {
  it('is ahead of true time and gets no control until true time has caught up', async () => {
    const { clock, gate, seen, inside } = setUp()
    const before = inside.monotonic()
    gate.busy(100)
    gate.busy(50)
    expect(inside.monotonic() - before).toBe(150)
    expect(gate.busyMs).toBe(150)
    inside.wakeAfter(0, () => seen.push(`woken at ${inside.monotonic() - before}`))
    gate.enter(() => seen.push('entered'))
    await clock.advance(149)
    expect(seen).toEqual([])
    expect(inside.monotonic() - before).toBe(150)
    await clock.advance(1)
    expect(seen).toEqual(['entered', 'woken at 150'])
  })

  it('continues its own work before it gets what has arrived', async () => {
    const { clock, gate, seen } = setUp()
    gate.block(100, () => {
      seen.push('went on')
      gate.block(100, () => seen.push('went on again'))
    })
    gate.enter(() => seen.push('arrived'))
    await clock.advance(150)
    expect(seen).toEqual(['went on'])
    await clock.advance(100)
    expect(seen).toEqual(['went on', 'went on again', 'arrived'])
  })

  it('does not continue while it is paused, and never continues after a crash', async () => {
    const { clock, gate, seen } = setUp()
    gate.block(100, () => seen.push('went on'))
    gate.hold()
    await clock.advance(200)
    expect(seen).toEqual([])
    gate.release()
    await clock.advance(1)
    expect(seen).toEqual(['went on'])
    gate.block(100, () => seen.push('never'))
    gate.shut()
    await clock.advance(200)
    expect(seen).toEqual(['went on'])
  })
})
