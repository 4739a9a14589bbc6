import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayNumber, isLeapYear, modulo, weekdayOf, yearOf } from '../../src/schedule/calendar.js'
import { StepCount, type Steps } from '../../src/schedule/step-count.js'

type Unit = Steps['unit']

/** What is named in a year, by the place of its unit: days or months of their own weekdays and lengths. */
function named(year: number, unit: Unit): readonly (readonly [offset: number, worth: number])[] {
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

/** The first day on which something of a unit counts here: that of the unit itself or of its month or year. */
function dayOf(year: number, unit: Unit, offset: number): number {
  return unit === 'day'
    ? dayNumber(year, 1, 1) + offset
    : dayNumber(year, unit === 'month' ? offset + 1 : 1, 1)
}

function indexOf(year: number, unit: Unit, offset: number): number {
  return unit === 'day' ? dayNumber(year, 1, 1) + offset : unit === 'month' ? year * 12 + offset : year
}

type Stepping = Pick<Steps, 'unit' | 'start' | 'step' | 'places'>

function countOneByOne({ unit, start, step, places }: Stepping, from: number, until: number): number {
  let count = 0
  for (let year = yearOf(from); year <= yearOf(until); year++) {
    for (const [offset, worth] of named(year, unit)) {
      const day = dayOf(year, unit, offset)
      if (day < from || day >= until) continue
      const behind = modulo(indexOf(year, unit, offset) - start, step)
      count += worth * places.filter((place) => modulo(place, step) === behind).length
    }
  }
  return count
}

const anyDay = fc.integer({ min: dayNumber(1, 1, 1), max: dayNumber(9999, 12, 31) })
const anyStepping: fc.Arbitrary<Stepping> = fc.record({
  unit: fc.constantFrom<Unit>('day', 'month', 'year'),
  start: fc.integer({ min: -3000, max: 30_000 }),
  step: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(365, 366, 367, 1461, 19_999, 20_001)),
  places: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 5 }),
})

function stepCountOf(stepping: Stepping, asked: { times: number } = { times: 0 }): StepCount {
  const { unit } = stepping
  return new StepCount(
    {
      ...stepping,
      hasNeighbours: true,
      each: (firstDay, _, add) => {
        asked.times++
        for (const [offset, worth] of named(yearOf(firstDay), unit)) add(offset, worth)
      },
    },
    (from, until) => countOneByOne(stepping, from, until),
  )
}

describe('StepCount', () => {
  it('counts as year by year, whatever is named and whatever is in step', () => {
    fc.assert(
      fc.property(anyDay, anyDay, anyStepping, (a, b, stepping) => {
        const [from, until] = [Math.min(a, b), Math.max(a, b)]
        const exact = countOneByOne(stepping, from, until)
        const steps = stepCountOf(stepping)
        expect(steps.count(from, until, Infinity)).toBe(exact)
        // What it keeps must serve other years, too.
        const later = Math.floor((from + until) / 2)
        const rest = countOneByOne(stepping, later, until)
        expect(steps.count(later, until, Infinity)).toBe(rest)
      }),
      { numRuns: 200 },
    )
  })

  it('is exact up to the most that matters, and above it beyond', () => {
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

  it('asks about each kind of year once', () => {
    const asked = { times: 0 }
    const stepping: Stepping = { unit: 'day', start: 0, step: 17, places: [0] }
    stepCountOf(stepping, asked).count(dayNumber(1, 5, 5), dayNumber(9999, 5, 5), Infinity)
    expect(asked.times).toBe(28)
  })

  it('asks again only if its tables are too large to be kept, and about no year if steps are long', () => {
    const countTwice = (step: number) => {
      const asked = { times: 0 }
      const steps = stepCountOf({ unit: 'day', start: 0, step, places: [0] }, asked)
      for (let i = 0; i < 2; i++) steps.count(dayNumber(1, 5, 5), dayNumber(9999, 5, 5), Infinity)
      return asked.times
    }
    expect([64, 65, 10_007].map(countTwice)).toEqual([28, 56, 0])
  })
})
