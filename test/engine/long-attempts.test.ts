import { describe, expect, it } from 'vitest'
import { Rig } from './rig.js'
import { FaultyCarriage } from './faulty-carriage.js'

const settings = { leaseMs: 10_000, acquireMs: 2000, heartbeatMs: 2000, carryAfterMs: 5000 }

describe('an attempt that takes longer than carryAfterMs', () => {
  it('counts once at each takeover, although its row was carried several times', async () => {
    const ways = Array.from({ length: 4 }, () => new FaultyCarriage())
    const first = new Rig({ settings, carriage: ways[0]!, memberId: 'm0' })
    const rigs = [
      first,
      ...ways
        .slice(1)
        .map((carriage, index) => new Rig({ settings, carriage, rig: first, memberId: `m${index + 1}` })),
    ]
    // No attempt ends: each owner is cut off from the store eight seconds into it.
    for (const rig of rigs) rig.handle = () => undefined
    for (const [index, rig] of rigs.entries()) {
      await first.settled(rig.engine.start())
      if (index === 0) await rig.submit(rig.set('long', 1000))
      while (rig.fired.length === 0) await first.clock.advance('1s')
      await first.clock.advance('8s')
      ways[index]!.isCut = true
    }
    expect(rigs.flatMap(({ fired }) => fired.map(({ attempt }) => attempt))).toEqual([1, 2, 3, 4])
  })
})
