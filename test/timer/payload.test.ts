import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodePayload, PayloadEncoder } from '../../src/timer/index.js'

const MANY = 1000

describe('PayloadEncoder', () => {
  it('encodes each payload as encodePayload does, for any mix and any number of them', () => {
    const payload = fc.oneof(
      { weight: 8, arbitrary: fc.jsonValue() },
      fc.constant(undefined),
      fc.date({ noInvalidDate: true }),
      fc.string({ minLength: 1000, maxLength: 30_000 }),
    )
    fc.assert(
      fc.property(fc.array(payload, { maxLength: 60 }), fc.nat(100), (payloads, count) => {
        const encoder = new PayloadEncoder(count)
        const encoded = payloads.map((each) => encoder.encode(each))
        expect(encoded.map((bytes) => Buffer.from(bytes))).toEqual(
          payloads.map((each) => Buffer.from(encodePayload(each))),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('shares only small buffers, so that a payload kept in memory keeps few others with it', () => {
    const encoder = new PayloadEncoder(MANY)
    const encoded = Array.from({ length: MANY }, (_, order) =>
      encoder.encode({ order, text: 'x'.repeat(100) }),
    )
    const buffers = new Set(encoded.map(({ buffer }) => buffer))
    expect(buffers.size).toBeLessThan(MANY / 20)
    expect(Math.max(...[...buffers].map(({ byteLength }) => byteLength))).toBeLessThanOrEqual(16_384)
  })

  it('throws where JSON.stringify throws or returns nothing', () => {
    const round: Record<string, unknown> = {}
    round['round'] = round
    for (const bad of [round, { n: 1n }, () => 1, Symbol('s')]) {
      expect(() => new PayloadEncoder(MANY).encode(bad)).toThrow(/cannot be written as JSON/)
    }
  })
})
