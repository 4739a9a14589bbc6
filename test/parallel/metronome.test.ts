import { describe, expect, it } from 'vitest'
import { armed, ticksBetween } from '../../src/parallel/memory/armed-tick.js'

describe('an armed tick', () => {
  it.each([0, 1, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 2 ** 45])(
    'is never 0, and differs from later ones by the ticks between, from %d on',
    (now) => {
      expect(armed(now, now)).not.toBe(0)
      for (const ahead of [0, 1, 1000, 2 ** 28, 2 ** 29]) {
        expect(ticksBetween(armed(now + ahead, now), armed(now, now))).toBe(ahead)
        expect(ticksBetween(armed(now, now), armed(now + ahead, now))).toBe(-ahead || 0)
      }
    },
  )

  it('of a due time in years is the farthest that can be compared', () => {
    expect(ticksBetween(armed(2 ** 48, 7), armed(7, 7))).toBe(2 ** 29)
  })
})
