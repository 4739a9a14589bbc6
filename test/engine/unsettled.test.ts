import { describe, expect, it } from 'vitest'
import { Unsettled } from '../../src/engine/unsettled.js'
import { VirtualClock } from '../../src/time/index.js'

describe('what the shards of an instance have not settled', () => {
  it('is settled by all at once when it has become much, or when no more comes', async () => {
    const clock = new VirtualClock()
    const unsettled = new Unsettled(clock, 100)
    const hurried: string[] = []
    const one = unsettled.join(() => hurried.push('one'))
    const two = unsettled.join(() => hurried.push('two'))
    unsettled.join(() => hurried.push('three'))
    unsettled.tell(one, 60)
    expect(hurried).toEqual([])
    unsettled.tell(two, 40)
    expect(hurried).toEqual(['one', 'two'])
    unsettled.tell(one, 10)
    unsettled.tell(two, 0)
    await clock.advance(100)
    expect(hurried).toEqual(['one', 'two', 'one'])
  })

  it('does not count what a shard tells that is no longer here', async () => {
    const clock = new VirtualClock()
    const unsettled = new Unsettled(clock, 100)
    let hurried = 0
    const lost = unsettled.join(() => undefined)
    const other = unsettled.join(() => hurried++)
    unsettled.leave(lost)
    // A page of suspects that was on its way when the shard was lost.
    unsettled.tell(lost, 1000)
    unsettled.tell(other, 1)
    await clock.advance(1000)
    expect(hurried).toBe(0)
  })
})
