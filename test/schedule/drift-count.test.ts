import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  civilDate,
  DAY_S,
  dayNumber,
  monthIndex,
  monthLength,
  weekdayOf,
} from '../../src/schedule/calendar/calendar.js'
import { LAST_DAY } from '../../src/schedule/calendar/month-days.js'
import { rrulePattern } from '../../src/schedule/rrule/rrule-pattern.js'
import { readRrule, type RruleParts } from '../../src/schedule/rrule/rrule-text.js'

const units = { HOURLY: 3600, MINUTELY: 60, SECONDLY: 1 } as const
type Unit = keyof typeof units

interface Drifting {
  readonly parts: RruleParts
  readonly start: number
  readonly step: number
}

/** Whether a rule of hours, minutes or seconds matches a local time, straight from the rule's text. */
function names(parts: RruleParts, local: number): boolean {
  const day = Math.floor(local / DAY_S)
  const second = local - day * DAY_S
  const { year, month, day: ofMonth } = civilDate(day)
  const fromEnd = ofMonth - monthLength(monthIndex(year, month)) - 1
  const allows = (values: readonly number[], ...any: number[]) =>
    values.length === 0 || any.some((value) => values.includes(value))
  return (
    allows(parts.months, month) &&
    allows(parts.monthDays, ofMonth, fromEnd) &&
    allows(
      parts.weekdays.map(({ weekday }) => weekday),
      weekdayOf(day),
    ) &&
    allows(parts.hours, Math.floor(second / 3600)) &&
    allows(parts.minutes, Math.floor(second / 60) % 60) &&
    allows(parts.seconds, second % 60)
  )
}

function localsOf({ parts, start, step }: Drifting, from: number, untilExclusive: number): number[] {
  const locals: number[] = []
  let local = start + Math.max(0, Math.ceil((from - start) / step)) * step
  for (; local < untilExclusive; local += step) if (names(parts, local)) locals.push(local)
  return locals
}

const list = (min: number, max: number, maxLength: number) =>
  fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength }).map((values) => values.join(','))

const maybe = (name: string, values: fc.Arbitrary<string>) =>
  fc.option(values, { nil: '' }).map((text) => (text === '' ? '' : `;${name}=${text}`))

const intervals: Record<Unit, fc.Arbitrary<number>> = {
  HOURLY: fc.oneof(fc.constantFrom(23, 24, 25, 49, 168), fc.integer({ min: 5, max: 2000 })),
  MINUTELY: fc.oneof(fc.constantFrom(1439, 1440, 1441, 2881), fc.integer({ min: 300, max: 20_000 })),
  SECONDLY: fc.oneof(fc.constantFrom(86_399, 86_401, 83_769), fc.integer({ min: 20_000, max: 1_000_000 })),
}

const anyDrifting: fc.Arbitrary<Drifting> = fc
  .constantFrom<Unit>('HOURLY', 'MINUTELY', 'SECONDLY')
  .chain((freq) =>
    fc.record({
      freq: fc.constant(freq),
      interval: intervals[freq],
      start: fc.integer({ min: dayNumber(1, 1, 1) * 24, max: dayNumber(2400, 1, 1) * 24 }),
      by: fc
        .tuple(
          maybe('BYMONTH', list(1, 12, 3)),
          maybe(
            'BYMONTHDAY',
            list(-31, 31, 4).filter((text) => !/(^|,)0/.test(text)),
          ),
          maybe(
            'BYDAY',
            fc.uniqueArray(fc.constantFrom('MO', 'TU', 'WE', 'SU'), { minLength: 1 }).map(String),
          ),
          maybe('BYHOUR', list(0, 23, 12)),
          freq === 'HOURLY' ? fc.constant('') : maybe('BYMINUTE', list(0, 59, 30)),
          freq === 'SECONDLY' ? maybe('BYSECOND', list(0, 59, 30)) : fc.constant(''),
        )
        .map((texts) => texts.join('')),
    }),
  )
  .map(({ freq, interval, start, by }) => ({
    parts: readRrule(`FREQ=${freq};INTERVAL=${interval}${by}`),
    start: start * 3600,
    step: interval * units[freq],
  }))

const mostPeriods = 60_000

/** A drifting rule, and a range with few enough periods to check them one by one. */
const anyStretch = anyDrifting.chain((drifting) =>
  fc
    .tuple(fc.integer({ min: 0, max: mostPeriods }), fc.integer({ min: 0, max: mostPeriods }), fc.nat(DAY_S))
    .map(([a, b, seconds]) => ({
      drifting,
      pattern: rrulePattern(drifting.parts, drifting.start),
      from: drifting.start + Math.min(a, b) * drifting.step + seconds,
      until: Math.min(drifting.start + Math.max(a, b) * drifting.step - seconds, LAST_DAY * DAY_S),
    })),
)

describe('Periods that drift through the day', () => {
  it('give the same count as stepping through them one by one, over any number of years', () => {
    fc.assert(
      fc.property(anyStretch, ({ drifting, pattern, from, until }) => {
        const exact = localsOf(drifting, from, until).length
        expect(pattern.count(from, until, Infinity)).toBe(exact)
      }),
      { numRuns: 300 },
    )
  })

  it('are counted exactly up to most, and as more than most beyond', () => {
    fc.assert(
      fc.property(anyStretch, fc.nat(5000), ({ drifting, pattern, from, until }, most) => {
        const exact = localsOf(drifting, from, until).length
        const count = pattern.count(from, until, most)
        if (exact <= most) expect(count).toBe(exact)
        else expect(count).toBeGreaterThan(most)
      }),
      { numRuns: 300 },
    )
  })

  it('are found, however rarely they match', () => {
    fc.assert(
      fc.property(anyStretch, ({ drifting, pattern, from, until }) => {
        const [first = Infinity] = localsOf(drifting, from, until)
        const found = pattern.firstFrom(from)
        if (first === Infinity) expect(found).toBeGreaterThanOrEqual(until)
        else expect(found).toBe(first)
      }),
      { numRuns: 300 },
    )
  })
})
