import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChangeFinder } from '../../src/schedule/zone/change-finder.js'

const DAY = 86_400
const FROM = 1_000_000_000

/** Successive changes, at any second or at a common time of day, with guesses. */
const anyTask = fc.record({
  length: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 60 * DAY })),
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  timeOfDay: fc.option(fc.constantFrom(0, 3600, 7200, 79_200, 900, 60)),
  guesses: fc.array(fc.oneof(fc.constant('right' as const), fc.integer({ min: -3, max: 61 * DAY })), {
    maxLength: 3,
  }),
  offset: fc.constantFrom(-18_000, 0, 3600, 7200, 20_700),
})

describe('ChangeFinder', () => {
  it('finds the exact second, whatever was guessed or found before', () => {
    fc.assert(
      fc.property(fc.array(anyTask, { minLength: 1, maxLength: 12 }), (tasks) => {
        let change = 0
        let offset = 0
        let asked = 0
        const finder = new ChangeFinder((second, asOffset) => {
          asked++
          return (second < change ? offset : offset + 3600) === asOffset
        })
        for (const { length, place, timeOfDay, guesses, offset: before } of tasks) {
          const after = FROM + length
          change = FROM + 1 + Math.floor(place * (length - 1))
          if (timeOfDay !== null) change += timeOfDay - ((change + before) % DAY)
          change = Math.min(Math.max(change, FROM + 1), after)
          offset = before
          asked = 0
          const guessed = guesses.map((guess) => (guess === 'right' ? change : FROM + guess))
          expect(finder.find(FROM, after, before, guessed)).toBe(change)
          // Probes for the day, for known times of day, for the quarter of an hour and for the second; two
          // for each guess.
          expect(asked).toBeLessThanOrEqual(2 * guesses.length + 7 + 8 + 8 + 11)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('takes two probes for a right guess, and seven for a known time of day', () => {
    let asked = 0
    const change = 12_345 * DAY + 3600
    const finder = new ChangeFinder((second, offset) => {
      asked++
      return (second < change ? 0 : 3600) === offset
    })
    expect(finder.find(change - 20 * DAY, change + 20 * DAY, 0, [change])).toBe(change)
    expect(asked).toBe(2)
    asked = 0
    expect(finder.find(change - 20 * DAY - 7, change + 12 * DAY, 0)).toBe(change)
    expect(asked).toBeLessThanOrEqual(7)
  })
})
