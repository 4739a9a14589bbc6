import { describe, expect, it } from 'vitest'
import { done } from '../../src/timer/index.js'
import { Rig, START } from './rig.js'

describe('the settled level', () => {
  it('goes on while timers that are long overdue keep coming', async () => {
    const rig = new Rig({ holdsAll: true })
    await rig.engine.start()
    await rig.clock.advance(2000)
    // Each takes longer than the pause between two of them: one is always under way.
    rig.handle = (firing) => {
      if (firing.row.key.startsWith('late')) rig.clock.wakeAfter(300, () => firing.report(done))
      else firing.report(done)
    }
    for (let i = 0; i < 200; i++) {
      const set = rig.engine.submit([
        rig.set(`late-${i}`, -60_000),
        rig.set(`now-${i}`, rig.clock.now() - START),
      ])
      await rig.clock.advance(100)
      await set
    }
    const [shard] = rig.engine.shards
    expect(rig.clock.now() - shard!.view.settledPosition).toBeLessThan(3000)
    expect(shard!.view.inMemory).toBeLessThan(60)
    const stop = rig.engine.stop()
    await rig.clock.advance(20_000)
    await stop
  })
})
