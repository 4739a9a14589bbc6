import { describe, expect, it } from 'vitest'
import { SettleBacklog } from '../../src/engine/settle/settle-backlog.js'
import { VirtualClock } from '../../src/time/index.js'

describe('the settle backlog of an instance', () => {
  it('hurries all its shards when it reaches settleCount, or when no outcome arrives for a while', async () => {
    const clock = new VirtualClock()
    const unsettled = new SettleBacklog(clock, 100)
    const hurried: string[] = []
    const one = unsettled.join(() => hurried.push('one'))
    const two = unsettled.join(() => hurried.push('two'))
    unsettled.join(() => hurried.push('three'))
    unsettled.update(one, 60)
    expect(hurried).toEqual([])
    unsettled.update(two, 40)
    expect(hurried).toEqual(['one', 'two'])
    unsettled.update(one, 10)
    unsettled.update(two, 0)
    await clock.advance(100)
    expect(hurried).toEqual(['one', 'two', 'one'])
  })

  it('ignores updates of a shard that was removed', async () => {
    const clock = new VirtualClock()
    const unsettled = new SettleBacklog(clock, 100)
    let hurried = 0
    const lost = unsettled.join(() => undefined)
    const other = unsettled.join(() => hurried++)
    unsettled.remove(lost)
    // For example a page of suspects that was on its way when the shard was lost.
    unsettled.update(lost, 1000)
    unsettled.update(other, 1)
    await clock.advance(1000)
    expect(hurried).toBe(0)
  })
})
