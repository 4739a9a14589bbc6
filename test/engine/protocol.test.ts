import { describe, expect, it } from 'vitest'
import { areCompatible, ourProtocol } from '../../src/engine/cluster/protocol-version.js'
import type { MemoryStore } from '../../src/store/index.js'
import { Rig } from './rig.js'

/** The store, with the heartbeat of a member of another version. */
async function withOtherMember(rig: Rig, details: object): Promise<MemoryStore> {
  await rig.store.heartbeat({ id: 'other', details: JSON.stringify({ isFiring: true, ...details }) }, 10_000)
  return rig.store
}

describe('versions that share a store', () => {
  it('are compatible if each is new enough for the other', () => {
    const old = { version: 3, oldest: 2 }
    expect(areCompatible(old, { version: 4, oldest: 3 })).toBe(true)
    expect(areCompatible({ version: 4, oldest: 3 }, old)).toBe(true)
    expect(areCompatible(old, { version: 5, oldest: 4 })).toBe(false)
    expect(areCompatible({ version: 5, oldest: 4 }, old)).toBe(false)
    expect(areCompatible(ourProtocol, ourProtocol)).toBe(true)
  })

  it('fail to start next to a member that is too new, and then are not a member', async () => {
    const rig = new Rig()
    const store = await withOtherMember(rig, { protocol: { version: 99, oldest: ourProtocol.version + 1 } })
    await expect(rig.settled(rig.engine.start())).rejects.toMatchObject({ code: 'protocol-mismatch' })
    const { members } = await store.heartbeat({ id: 'looker', details: '' }, 1)
    expect(members.map(({ id }) => id).toSorted()).toEqual(['looker', 'other'])
    expect(rig.engine.shards).toEqual([])
  })

  it.each([
    ['newer', { protocol: { version: 99, oldest: ourProtocol.version } }],
    ['older and states no version', {}],
    ['of an invalid version', { protocol: 'x' }],
  ])('start next to a member that is %s, and reach it through the inbox only', async (_, details) => {
    const rig = new Rig()
    await withOtherMember(rig, { ...details, address: 'there' })
    await rig.settled(rig.engine.start())
    expect(rig.engine.memberIds).toContain('other')
    expect(rig.engine.peerOf('other')).toBeUndefined()
    await rig.settled(rig.engine.stop())
  })

  it.each([
    ['older, by hash', {}, 3],
    ['of the same version, evenly', { protocol: ourProtocol }, 4],
  ])('divide the shards with a member that is %s', async (_, details, expected) => {
    const rig = new Rig({ shardCount: 8, memberId: 'one' })
    await withOtherMember(rig, details)
    await rig.settled(rig.engine.start())
    expect(rig.engine.shards).toHaveLength(expected)
    await rig.settled(rig.engine.stop())
  })

  it('ask a member of the same version directly', async () => {
    const rig = new Rig()
    await withOtherMember(rig, { protocol: ourProtocol, address: 'there' })
    await rig.settled(rig.engine.start())
    expect(rig.engine.peerOf('other')).toEqual({ id: 'other', address: 'there' })
    await rig.settled(rig.engine.stop())
  })
})
