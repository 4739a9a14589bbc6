import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shardOf, shardsOf } from '../../src/timer/index.js'

describe('shardsOf', () => {
  it('gives the same shards as shardOf does one by one', () => {
    const texts = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(
        texts,
        texts,
        fc.array(texts),
        fc.integer({ min: 1, max: 4096 }),
        (namespace, kind, keys, shardCount) => {
          expect([...shardsOf({ namespace, kind }, keys, shardCount)]).toEqual(
            keys.map((key) => shardOf({ namespace, kind, key }, shardCount)),
          )
        },
      ),
    )
  })

  it('gives the same shards as ever, which stores on disk depend on', () => {
    const shards = (shardCount: number): number[] =>
      ['order:7', 'user:42', '日本語', 'ä'].map((key) =>
        shardOf({ namespace: 'default', kind: 'remind', key }, shardCount),
      )
    expect([shards(1), shards(16), shards(64), shards(4096)]).toEqual([
      [0, 0, 0, 0],
      [13, 11, 12, 12],
      [61, 27, 28, 44],
      [61, 1243, 284, 108],
    ])
  })
})
