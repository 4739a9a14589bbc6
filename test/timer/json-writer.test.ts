import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonWriter } from '../../src/timer/payload/json-writer.js'

const ROOMY = 1 << 20

function written(value: unknown, size = ROOMY): string | undefined {
  const bytes = new JsonWriter(size).write(value)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString()
}

describe('JsonWriter', () => {
  it('writes any JSON value as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(written(value)).toBe(JSON.stringify(value))
      }),
      { numRuns: 3000 },
    )
  })

  it('writes any other value as JSON.stringify does, or declines it', () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
    })
    let count = 0
    fc.assert(
      fc.property(anything, (value) => {
        const text = written(value)
        if (text !== undefined) count++
        expect(text).toBe(text === undefined ? undefined : JSON.stringify(value))
      }),
      { numRuns: 5000 },
    )
    expect(count).toBeGreaterThan(100)
  })

  it.each([
    [
      'numbers of every make',
      [0, -0, 7, 10, 99, 100, 2 ** 31 - 1, 2 ** 31, -1, 1.5, 1e21, 1e-7, NaN, -Infinity],
    ],
    [
      'texts of every letter',
      ['', '"', '\\', '\n\u0000\u001f', '\u007f', 'ä', '€', '😀', '\ud800', '\udc00x', '\u2028'],
    ],
    ['names of every letter', { '': 1, '"': 2, ä: 3, '😀': 4, '\ud800': 5, '10': 6, '9': 7, __proto__x: 8 }],
    ['what is undefined', { a: undefined, b: { c: undefined }, d: 1 }],
    ['nothing in it', [{}, [], [[]], { a: {} }]],
  ])('writes %s as JSON.stringify does', (_, value) => {
    expect(written(value)).toBe(JSON.stringify(value))
  })

  class Money {
    cents = 5
  }

  it.each([
    ['a date', new Date(0)],
    ['a class of its own', new Money()],
    ['one without a prototype', Object.assign(Object.create(null) as object, { a: 1 })],
    ['a map', new Map([[1, 2]])],
    ['a toJSON of its own', { toJSON: () => 'else' }],
    ['a list with a toJSON', Object.assign([1], { toJSON: () => 'else' })],
    ['a function', { a: () => 1 }],
    ['a symbol', [Symbol('s')]],
    ['a hole', [1, undefined, 3]],
    ['a big number', 1n],
    ['nothing', undefined],
    ['boxed ones', [Object('a')]],
  ])('declines %s', (_, value) => {
    expect(written({ value })).toBe(value === undefined ? '{}' : undefined)
    expect(written(value)).toBeUndefined()
  })

  it('declines values that contain themselves or are nested deeply', () => {
    const round: Record<string, unknown> = {}
    round['round'] = { round }
    expect(written(round)).toBeUndefined()
    let deep: unknown = 1
    for (let depth = 0; depth < 100; depth++) deep = [deep]
    expect(written(deep)).toBeUndefined()
  })

  it('does not write properties that were added to Object.prototype', () => {
    const everywhere = Object.prototype as unknown as Record<string, unknown>
    try {
      everywhere['added'] = 'to all'
      const text = written({ a: 1 })
      expect(text ?? JSON.stringify({ a: 1 })).toBe('{"a":1}')
    } finally {
      delete everywhere['added']
    }
  })

  it('never writes beyond its end, and never writes part of a value', () => {
    const value = { text: 'x'.repeat(40), list: [1, 2, 3, 'ä€', true, null], number: 123_456 }
    const deep = [[[[[[[[[[[[[[-1.234_567_890_123_456e-100]]]]]]]]]]]]]]
    for (const one of [value, deep]) {
      const json = JSON.stringify(one)
      for (let size = 0; size < 250; size++) expect(written(one, size) ?? json).toBe(json)
      expect(written(one, 250)).toBe(json)
    }
  })

  it('writes values side by side, and a declined value does not affect the others', () => {
    const writer = new JsonWriter(4096)
    const first = writer.write({ a: 1 })!
    expect(writer.write({ b: 'x'.repeat(5000) })).toBeUndefined()
    expect(writer.write({ c: new Date(0) })).toBeUndefined()
    const second = writer.write({ d: 2 })!
    expect([first, second].map((bytes) => Buffer.from(bytes).toString())).toEqual(['{"a":1}', '{"d":2}'])
    expect(second.buffer).toBe(first.buffer)
  })
})
