import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyBytes } from '../../src/store/bytes/copy-bytes.js'
import { SetColumns, SetColumnsWrite } from '../../src/store/index.js'
import { shardOf } from '../../src/timer/index.js'

const scope = { namespace: 'n', kind: 'k', createdAt: 5 }

function setsOf(keys: readonly string[]): SetColumns {
  const sets = new SetColumns(scope, keys.length, 1000)
  for (const [index, key] of keys.entries()) sets.add(key, index + 1, Math.max(0, 100 - index), { index })
  return sets
}

describe('plain sets in columns', () => {
  it('become operations with everything that was added', () => {
    const sets = setsOf(['a', 'b'])
    expect(sets.operations()).toEqual([
      operationOf('a', 1, 100, Buffer.from('{"index":0}')),
      operationOf('b', 2, 99, Buffer.from('{"index":1}')),
    ])
    expect(sets.operations(Uint32Array.of(1)).map(({ key }) => key)).toEqual(['b'])
  })

  it('are assigned to the same shards as single sets, in order', () => {
    const keys = Array.from({ length: 500 }, (_, index) => `key ${index}`)
    const sets = setsOf(keys)
    for (const shardCount of [1, 3, 64, 4096]) {
      const parts = sets.byShard(shardCount)
      expect(parts.map(({ shard }) => shard)).toEqual([...new Set(parts.map(({ shard }) => shard))])
      const found = parts.flatMap(({ shard, indexes }) => {
        const own = Array.from(indexes)
        expect(own).toEqual(own.toSorted((a, b) => a - b))
        expect(own.every((index) => shardOf({ ...scope, key: keys[index]! }, shardCount) === shard)).toBe(
          true,
        )
        return own
      })
      expect(found.toSorted((a, b) => a - b)).toEqual([...keys.keys()])
    }
  })

  it('refuse invalid sets and stay unchanged', () => {
    const sets = new SetColumns(scope, 2, 1000)
    sets.add('a', 1, 100, 1)
    const larger = new SetColumns(scope, 3, 10)
    const code = (wanted: string): unknown => expect.objectContaining({ code: wanted })
    expect(() => sets.add('', 1, 1, 1)).toThrow(code('invalid-key'))
    expect(() => sets.add('\ud800', 1, 1, 1)).toThrow(code('invalid-key'))
    expect(() => sets.add('b', 0, 1, 1)).toThrow(code('invalid-timer'))
    expect(() => sets.add('b', 1.5, 1, 1)).toThrow(code('invalid-timer'))
    expect(() => sets.add('b', 1, Number.NaN, 1)).toThrow(code('invalid-timer'))
    expect(() => sets.add('b', 1, -1, 1)).toThrow(code('invalid-timer'))
    expect(() => sets.add('b', 1, 1, 1n)).toThrow(code('invalid-payload'))
    expect(() => larger.add('b', 1, 1, 'x'.repeat(9))).toThrow(code('payload-too-large'))
    expect(() => new SetColumns({ ...scope, kind: '' }, 1, 10).add('b', 1, 1, 1)).toThrow(
      code('invalid-kind'),
    )
    expect(() => setsOf(['a']).add('b', 1, 1, 1)).toThrow('there is room for 1')
    expect([sets.length, sets.payloads.length, larger.length, larger.payloads.length]).toEqual([1, 1, 0, 0])
    larger.add('b', 1, 1, 'x'.repeat(8))
    expect(String(larger.operation(0).payload)).toBe('"xxxxxxxx"')
  })

  it('get their due time as position, but none below the floor', () => {
    const write = new SetColumnsWrite(
      { sets: setsOf(['a', 'ää', 'ccc']), indexes: Uint32Array.of(0, 2) },
      99,
      true,
    )
    expect([...write.positions]).toEqual([100, 99])
    expect(write.operations.map(({ key, position, dueAt }) => [key, position, dueAt])).toEqual([
      ['a', 100, 100],
      ['ccc', 99, 98],
    ])
    const { leastPosition, isDueInPlace, keyUnits, payloadBytes, length, ifInboxEmpty } = write
    expect({ leastPosition, isDueInPlace, keyUnits, payloadBytes, length, ifInboxEmpty }).toEqual({
      leastPosition: 99,
      isDueInPlace: false,
      keyUnits: 4,
      payloadBytes: 22,
      length: 2,
      ifInboxEmpty: true,
    })
    expect(
      new SetColumnsWrite({ sets: setsOf(['a']), indexes: Uint32Array.of(0) }, 0, true).isDueInPlace,
    ).toBe(true)
    expect(
      () => new SetColumnsWrite({ sets: setsOf(['a']), indexes: Uint32Array.of(0) }, 100.5, true),
    ).toThrow('position must be an integer')
  })
})

describe('copyBytes', () => {
  it('copies exactly the given bytes and nothing around them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(9), fc.nat(9), (bytes, before, at) => {
        const source = Buffer.concat([Buffer.alloc(before, 1), bytes, Buffer.alloc(9, 2)])
        const target = Buffer.alloc(at + bytes.length + 9, 3)
        const view = (of: Buffer): DataView => new DataView(of.buffer, of.byteOffset, of.length)
        expect(copyBytes(view(source), before, before + bytes.length, view(target), at)).toBe(
          at + bytes.length,
        )
        const wanted = Buffer.concat([Buffer.alloc(at, 3), bytes, Buffer.alloc(9, 3)])
        expect(target.equals(wanted)).toBe(true)
      }),
    )
  })
})

function operationOf(key: string, identity: number, dueAt: number, payload: Uint8Array) {
  const progress = { dueAt, position: dueAt, attempt: 0, occurrence: 0 }
  return { type: 'set', ...scope, key, identity, ...progress, payload, tags: [], details: '' }
}
