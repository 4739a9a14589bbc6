import { describe, expect, it } from 'vitest'
import { areCompatible, ourProtocol } from '../../src/engine/protocol.js'
import type { MemoryStore } from '../../src/store/index.js'
import { Rig } from './rig.js'

/** A store at which a member of another version has its heartbeat. */
async function visited(rig: Rig, details: object): Promise<MemoryStore> {
  await rig.store.heartbeat({ id: 'other', details: JSON.stringify({ isFiring: true, ...details }) }, 10_000)
  return rig.store
}

describe('versions that share a store', () => {
  it('are those of which each is new enough for the other', () => {
    const old = { version: 3, oldest: 2 }
    expect(areCompatible(old, { version: 4, oldest: 3 })).toBe(true)
    expect(areCompatible({ version: 4, oldest: 3 }, old)).toBe(true)
    expect(areCompatible(old, { version: 5, oldest: 4 })).toBe(false)
    expect(areCompatible({ version: 5, oldest: 4 }, old)).toBe(false)
    expect(areCompatible(ourProtocol, ourProtocol)).toBe(true)
  })

  it('refuse to start beside a newer member that is too new, and are no member then', async () => {
    const rig = new Rig()
    const store = await visited(rig, { protocol: { version: 99, oldest: ourProtocol.version + 1 } })
    await expect(rig.settled(rig.engine.start())).rejects.toMatchObject({ code: 'protocol-mismatch' })
    const { members } = await store.heartbeat({ id: 'looker', details: '' }, 1)
    expect(members.map(({ id }) => id).toSorted()).toEqual(['looker', 'other'])
    expect(rig.engine.shards).toEqual([])
  })

  it.each([
    ['newer', { protocol: { version: 99, oldest: ourProtocol.version } }],
    ['older, which says nothing of it', {}],
    ['strange', { protocol: 'x' }],
  ])('start beside a member that is %s, and ask it by its inbox only', async (_, details) => {
    const rig = new Rig()
    await visited(rig, { ...details, address: 'there' })
    await rig.settled(rig.engine.start())
    expect(rig.engine.memberIds).toContain('other')
    expect(rig.engine.peerOf('other')).toBeUndefined()
    await rig.settled(rig.engine.stop())
  })

  it.each([
    ['older, which shares as dice fall', {}, 3],
    ['of the same version, evenly', { protocol: ourProtocol }, 4],
  ])('share the shards with one that is %s', async (_, details, itsShare) => {
    const rig = new Rig({ shardCount: 8, memberId: 'one' })
    await visited(rig, details)
    await rig.settled(rig.engine.start())
    expect(rig.engine.shards).toHaveLength(itsShare)
    await rig.settled(rig.engine.stop())
  })

  it('ask a member of the same version directly', async () => {
    const rig = new Rig()
    await visited(rig, { protocol: ourProtocol, address: 'there' })
    await rig.settled(rig.engine.start())
    expect(rig.engine.peerOf('other')).toEqual({ id: 'other', address: 'there' })
    await rig.settled(rig.engine.stop())
  })
})
