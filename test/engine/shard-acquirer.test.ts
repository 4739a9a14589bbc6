import { describe, expect, it } from 'vitest'
import { assignEvenly } from '../../src/engine/cluster/shard-assignment.js'
import { StoreError } from '../../src/error/index.js'
import type { Carriage } from '../../src/store/index.js'
import { FaultyCarriage } from './faulty-carriage.js'
import { Rig } from './rig.js'

const settings = { leaseMs: 10_000, acquireMs: 2000, heartbeatMs: 2000 }

// Both cases need several faults in a row, so seeds hardly ever meet them (mutants 'a refused claim is forgotten while
// another sending of it is on its way', 'a member is passed over by an instance that could not read the shards').
describe('a shard without an owner', () => {
  it('is acquired at once if the first sending of a refused request is granted late', async () => {
    const cut = new FaultyCarriage()
    let late: (() => unknown) | undefined
    const slow: Carriage = {
      carry: async (call, commit) => {
        if (call.name !== 'acquire' || late !== undefined) return commit()
        late = commit
        throw new StoreError('unknown-outcome', 'the answer to acquire was lost')
      },
      wake: (deliver) => queueMicrotask(deliver),
    }
    const one = new Rig({ settings, carriage: cut, memberId: 'one' })
    const two = new Rig({ settings, rig: one, carriage: slow, memberId: 'two' })
    await one.settled(one.engine.start())
    await one.settled(two.engine.open())
    cut.isCut = true
    await one.settled(two.store.removeMember('one'))
    // So it looks for shards before and after the lease ends, but not just then.
    await one.clock.advance(700)
    await one.settled(two.engine.start())
    // The second sending is refused, because the lease still runs.
    await one.clock.advance('5s')
    expect(late).toBeDefined()
    expect(two.engine.shards).toEqual([])
    const [row] = await one.settled(two.store.shards())
    await one.clock.advance(row!.leaseUntil - one.clock.now())
    expect(late!()).toBeDefined()
    await one.clock.advance('3s')
    expect(two.engine.shards).toHaveLength(1)
  })

  it('is left to its member by an instance that could not read the shards meanwhile', async () => {
    const [memberId, otherId] = ['one', 'two'].toSorted((a) => (assignedOf() === a ? -1 : 1)) as [
      string,
      string,
    ]
    const [itsCarriage, otherCarriage, nextCarriage] = [0, 1, 2].map(() => new FaultyCarriage())
    const isAcquire = ({ name }: { readonly name: string }): boolean => name === 'acquire'
    const member = new Rig({ settings, carriage: itsCarriage!, memberId })
    const other = new Rig({ settings, rig: member, carriage: otherCarriage!, memberId: otherId })
    for (const carriage of [itsCarriage!, otherCarriage!, nextCarriage!]) carriage.fails = isAcquire
    await member.settled(Promise.all([member.engine.start(), other.engine.start()]))
    await member.clock.advance('3s')
    // The other instance has seen that nobody owns the shard. From now on it cannot read the shards.
    otherCarriage!.fails = ({ name }) => name === 'shards'
    itsCarriage!.fails = () => false
    await member.clock.advance('20s')
    expect(member.engine.shards).toHaveLength(1)
    await member.settled(member.engine.stop())
    const next = new Rig({ settings, rig: member, carriage: nextCarriage!, memberId })
    await member.settled(next.engine.start())
    // The shard has no owner again, but only since a moment ago.
    otherCarriage!.fails = () => false
    await member.clock.advance('3s')
    nextCarriage!.fails = () => false
    await member.clock.advance('3s')
    expect(other.engine.shards).toEqual([])
    expect(next.engine.shards).toHaveLength(1)
  })
})

/** The member that the only shard is assigned to. */
function assignedOf(): string {
  return assignEvenly([{ shard: 0, owner: '' }], ['one', 'two']).get(0)!
}
