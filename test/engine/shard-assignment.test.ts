import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assignByHash, type HeldShard, assignEvenly } from '../../src/engine/cluster/shard-assignment.js'

const members = (count: number): string[] => Array.from({ length: count }, (_, i) => `m${(i * 7919) % 1000}`)
const free = (count: number): HeldShard[] =>
  Array.from({ length: count }, (_, shard) => ({ shard, owner: '' }))

/** The assigned owner of each shard. */
function after(shards: readonly HeldShard[], ids: readonly string[]): HeldShard[] {
  const owners = assignEvenly(shards, ids)
  return shards.map(({ shard }) => ({ shard, owner: owners.get(shard) ?? '' }))
}

function sizes(shards: readonly HeldShard[], ids: readonly string[]): number[] {
  return ids.map((id) => shards.filter(({ owner }) => owner === id).length)
}

function changed(before: readonly HeldShard[], now: readonly HeldShard[]): HeldShard[] {
  return before.filter(({ owner }, i) => now[i]!.owner !== owner)
}

/** Shards with random owners, who may or may not be members. */
const anything = fc
  .record({ shardCount: fc.integer({ min: 1, max: 70 }), memberCount: fc.integer({ min: 1, max: 20 }) })
  .chain(({ shardCount, memberCount }) =>
    fc.record({
      ids: fc.constant(members(memberCount)),
      shards: fc
        .array(fc.oneof(fc.constantFrom(...members(memberCount)), fc.constantFrom('', 'gone')), {
          minLength: shardCount,
          maxLength: shardCount,
        })
        .map((owners) => owners.map((owner, shard): HeldShard => ({ shard, owner }))),
    }),
  )

describe('the assignment of shards', () => {
  it('is even, no matter who owned the shards before', () => {
    fc.assert(
      fc.property(anything, ({ shards, ids }) => {
        const counts = sizes(after(shards, ids), ids)
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(shards.length)
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      }),
      { numRuns: 1000 },
    )
  })

  it('is stable once it is even, and the same at every member', () => {
    fc.assert(
      fc.property(anything, fc.nat(), ({ shards, ids }, turn) => {
        const shared = after(shards, ids)
        expect(after(shared, ids)).toEqual(shared)
        const turned = [...ids.slice(turn % ids.length), ...ids.slice(0, turn % ids.length)]
        expect(new Map(assignEvenly(shards.toReversed(), turned))).toEqual(new Map(assignEvenly(shards, ids)))
      }),
      { numRuns: 1000 },
    )
  })

  it('moves only the shards that a new member needs', () => {
    for (const shardCount of [1, 16, 64]) {
      let shards = free(shardCount)
      for (let count = 1; count <= 20; count++) {
        const now = after(shards, members(count))
        // The first member finds all shards free.
        expect(changed(shards, now)).toHaveLength(Math.floor(shardCount / count))
        shards = now
      }
    }
  })

  it('divides the shards of a member that leaves among the others, who keep their own', () => {
    for (const shardCount of [1, 16, 64]) {
      for (let count = 2; count <= 20; count++) {
        const ids = members(count)
        const shards = after(free(shardCount), ids)
        for (const gone of ids) {
          const left = ids.filter((id) => id !== gone)
          expect(new Set(changed(shards, after(shards, left)).map(({ owner }) => owner))).toEqual(
            new Set(sizes(shards, [gone])[0] === 0 ? [] : [gone]),
          )
        }
      }
    }
  })

  it('is empty without members', () => {
    expect(assignEvenly(free(3), []).size).toBe(0)
    expect(assignByHash(free(3), []).size).toBe(0)
  })
})
