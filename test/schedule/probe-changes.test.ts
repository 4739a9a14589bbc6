import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY_S } from '../../src/schedule/calendar/calendar.js'
import { IntlOffsets } from '../../src/schedule/zone/intl-offsets.js'
import { findSegments } from '../../src/schedule/zone/segment.js'
import { zoneOf } from '../../src/schedule/zone/zone.js'

const names = [
  'Asia/Gaza',
  'America/Sao_Paulo',
  'Africa/Cairo',
  'Pacific/Apia',
  'Europe/London',
  'Asia/Manila',
]
const readers = new Map(names.map((name) => [name, new IntlOffsets(name)]))

const anySecond = fc.integer({ min: Date.UTC(1844, 0, 1) / 1000, max: Date.UTC(2088, 0, 1) / 1000 })

describe('Zone.probeChangesBetween', () => {
  it('finds the same changes as a search through every day', () => {
    let found = 0
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        anySecond,
        fc.integer({ min: 1, max: 60 * DAY_S }),
        (name, after, length) => {
          const reader = readers.get(name)!
          const segments = findSegments((second) => reader.at(second), after + 1, after + length + 1, DAY_S)
          const plain = segments
            .filter(({ offset, offsetBefore }) => offset !== offsetBefore)
            .map(({ start, offset, offsetBefore }) => ({ at: start, before: offsetBefore, after: offset }))
          expect(zoneOf(name).probeChangesBetween(after, after + length)).toEqual(plain)
          found += plain.length
        },
      ),
      { numRuns: 4000 },
    )
    expect(found).toBeGreaterThan(50)
  })
})

describe('IntlOffsets.hasOffset and atWithGuess', () => {
  it('agree with `at`, except for differences of whole days', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        anySecond,
        fc.constantFrom(-36_000, -10_800, -7200, 0, 3600, 7200, 10_800, 50_400, 28_800, 7199),
        (name, second, offset) => {
          const reader = readers.get(name)!
          const real = reader.at(second)
          const isAlike = (real - offset) % DAY_S === 0
          expect(reader.hasOffset(second, offset)).toBe(isAlike)
          expect(reader.hasOffset(second, real)).toBe(true)
          expect(reader.atWithGuess(second, offset)).toBe(isAlike ? offset : real)
        },
      ),
      { numRuns: 3000 },
    )
  })
})
