import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { identityText } from '../../src/timer/index.js'

describe('identityText', () => {
  it('writes the number in base 36', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (identity) => {
        expect(identityText(identity)).toBe(identity.toString(36))
      }),
      { numRuns: 2000 },
    )
  })

  it('is correct around the multiples of 36^5, where it splits the number', () => {
    const low = 36 ** 5
    for (const times of [1, 2, 35, 36, 1e6, 134_217_728, Math.floor(Number.MAX_SAFE_INTEGER / low)]) {
      for (const identity of [times * low - 1, times * low, times * low + 1]) {
        expect(identityText(identity)).toBe(identity.toString(36))
      }
    }
  })
})
