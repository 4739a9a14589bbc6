import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayNumber, isLeapYear, modulo, weekdayOf, yearOf } from '../../src/schedule/calendar/calendar.js'
import { YearKindCount } from '../../src/schedule/count/year-kind-count.js'

/**
 * Matches of a year with their weights. Each property that a kind of year may depend on has its own weight.
 */
function weights(year: number, period: number): readonly (readonly [number, number])[] {
  return [
    [dayNumber(year, 1, 1), isLeapYear(year - 1) ? 1000 : 1],
    [dayNumber(year, 3, 1), weekdayOf(dayNumber(year, 3, 1))],
    [dayNumber(year, 7, 1), modulo(year, period) * 7],
    [dayNumber(year, 12, 31), isLeapYear(year + 1) ? 100_000 : 1],
  ]
}

function countOneByOne(from: number, untilExclusive: number, period: number): number {
  let count = 0
  for (let year = yearOf(from); year <= yearOf(untilExclusive); year++) {
    for (const [day, weight] of weights(year, period))
      if (day >= from && day < untilExclusive) count += weight
  }
  return count
}

const anyDay = fc.integer({ min: dayNumber(1, 1, 1), max: dayNumber(9999, 12, 31) })
const anyPeriod = fc.constantFrom(1, 2, 3, 5, 7, 12)

describe('YearKindCount', () => {
  it('counts the same as day by day, for every dependency on weekday, neighbours and period', () => {
    fc.assert(
      fc.property(anyDay, anyDay, anyPeriod, (a, b, period) => {
        const long = new YearKindCount((from, until) => countOneByOne(from, until, period), period)
        const [from, until] = [Math.min(a, b), Math.max(a, b)]
        expect(long.count(from, until, Infinity)).toBe(countOneByOne(from, until, period))
      }),
      { numRuns: 300 },
    )
  })

  it('is exact up to most, and returns more than most beyond', () => {
    fc.assert(
      fc.property(anyDay, anyDay, anyPeriod, fc.integer({ min: 0, max: 2e8 }), (a, b, period, most) => {
        const long = new YearKindCount((from, until) => countOneByOne(from, until, period), period)
        const [from, until] = [Math.min(a, b), Math.max(a, b)]
        const exact = countOneByOne(from, until, period)
        const count = long.count(from, until, most)
        if (exact <= most) expect(count).toBe(exact)
        else expect(count).toBeGreaterThan(most)
      }),
      { numRuns: 300 },
    )
  })

  it('counts each kind of year once', () => {
    let asked = 0
    const long = new YearKindCount((from, until) => {
      asked++
      return countOneByOne(from, until, 1)
    }, 1)
    long.count(dayNumber(1, 5, 5), dayNumber(9999, 5, 5), Infinity)
    expect(asked).toBeLessThan(60)
  })
})
