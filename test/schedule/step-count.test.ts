import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayNumber, isLeapYear, modulo, weekdayOf, yearOf } from '../../src/schedule/calendar/calendar.js'
import { StepCount, type Steps } from '../../src/schedule/count/step-count.js'

type Unit = Steps['unit']

/**
 * The matches of a year, by offset in units. They depend on the year's weekday and length and on its
 * neighbours.
 */
function named(year: number, unit: Unit): readonly (readonly [offset: number, weight: number])[] {
  const firstDay = dayNumber(year, 1, 1)
  const weekday = weekdayOf(firstDay)
  const neighbours = (isLeapYear(year - 1) ? 10 : 0) + (isLeapYear(year + 1) ? 100 : 0)
  if (unit === 'year') return [[0, weekday + neighbours]]
  if (unit === 'month') {
    return [
      [1, isLeapYear(year) ? 3 : 1],
      [7, weekday],
      [11, neighbours],
    ]
  }
  return [
    [0, 1 + neighbours],
    [weekday * 9, 2],
    [200, weekday],
    [364 + (isLeapYear(year) ? 1 : 0), 5],
  ]
}

/** The first day of the unit of a match: the day itself, or the first day of its month or year. */
function dayOf(year: number, unit: Unit, offset: number): number {
  return unit === 'day'
    ? dayNumber(year, 1, 1) + offset
    : dayNumber(year, unit === 'month' ? offset + 1 : 1, 1)
}

function indexOf(year: number, unit: Unit, offset: number): number {
  return unit === 'day' ? dayNumber(year, 1, 1) + offset : unit === 'month' ? year * 12 + offset : year
}

type Stepping = Pick<Steps, 'unit' | 'start' | 'step' | 'offsets'>

function countOneByOne({ unit, start, step, offsets }: Stepping, from: number, until: number): number {
  let count = 0
  for (let year = yearOf(from); year <= yearOf(until); year++) {
    for (const [offset, weight] of named(year, unit)) {
      const day = dayOf(year, unit, offset)
      if (day < from || day >= until) continue
      const behind = modulo(indexOf(year, unit, offset) - start, step)
      count += weight * offsets.filter((stepOffset) => modulo(stepOffset, step) === behind).length
    }
  }
  return count
}

const anyDay = fc.integer({ min: dayNumber(1, 1, 1), max: dayNumber(9999, 12, 31) })
const anyStepping: fc.Arbitrary<Stepping> = fc.record({
  unit: fc.constantFrom<Unit>('day', 'month', 'year'),
  start: fc.integer({ min: -3000, max: 30_000 }),
  step: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(365, 366, 367, 1461, 19_999, 20_001)),
  offsets: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 5 }),
})

function stepCountOf(stepping: Stepping, asked: { times: number } = { times: 0 }): StepCount {
  const { unit } = stepping
  return new StepCount(
    {
      ...stepping,
      dependsOnNeighbours: true,
      eachMatch: (firstDay, _, add) => {
        asked.times++
        for (const [offset, weight] of named(yearOf(firstDay), unit)) add(offset, weight)
      },
    },
    (from, until) => countOneByOne(stepping, from, until),
  )
}

describe('StepCount', () => {
  it('counts the same as year by year, for any matches and steps', () => {
    fc.assert(
      fc.property(anyDay, anyDay, anyStepping, (a, b, stepping) => {
        const [from, until] = [Math.min(a, b), Math.max(a, b)]
        const exact = countOneByOne(stepping, from, until)
        const steps = stepCountOf(stepping)
        expect(steps.count(from, until, Infinity)).toBe(exact)
        // Cached tables must also serve other ranges.
        const later = Math.floor((from + until) / 2)
        const rest = countOneByOne(stepping, later, until)
        expect(steps.count(later, until, Infinity)).toBe(rest)
      }),
      { numRuns: 200 },
    )
  })

  it('is exact up to most, and returns more than most beyond', () => {
    fc.assert(
      fc.property(anyDay, anyDay, anyStepping, fc.integer({ min: 0, max: 5000 }), (a, b, stepping, most) => {
        const [from, until] = [Math.min(a, b), Math.max(a, b)]
        const exact = countOneByOne(stepping, from, until)
        const count = stepCountOf(stepping).count(from, until, most)
        if (exact <= most) expect(count).toBe(exact)
        else expect(count).toBeGreaterThan(most)
      }),
      { numRuns: 200 },
    )
  })

  it('makes one table per kind of year', () => {
    const asked = { times: 0 }
    const stepping: Stepping = { unit: 'day', start: 0, step: 17, offsets: [0] }
    stepCountOf(stepping, asked).count(dayNumber(1, 5, 5), dayNumber(9999, 5, 5), Infinity)
    expect(asked.times).toBe(28)
  })

  it('keeps small tables, computes large ones at each call, and uses none if steps are long', () => {
    const countTwice = (step: number) => {
      const asked = { times: 0 }
      const steps = stepCountOf({ unit: 'day', start: 0, step, offsets: [0] }, asked)
      for (let i = 0; i < 2; i++) steps.count(dayNumber(1, 5, 5), dayNumber(9999, 5, 5), Infinity)
      return asked.times
    }
    expect([64, 65, 10_007].map(countTwice)).toEqual([28, 56, 0])
  })
})
