import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY_S, dayNumber, isLeapYear, weekdayOf } from '../../src/schedule/calendar/calendar.js'
import { rrulePattern } from '../../src/schedule/rrule/rrule-pattern.js'
import { readRrule } from '../../src/schedule/rrule/rrule-text.js'

const START = dayNumber(1, 1, 1) * DAY_S

const some = (name: string, min: number, max: number) =>
  fc.option(
    fc
      .uniqueArray(
        fc.integer({ min, max }).filter((value) => value !== 0),
        { minLength: 1, maxLength: 3 },
      )
      .map((values) => `;${name}=${values.join(',')}`),
    { nil: '' },
  )

/** Rules with an interval of days, months, years, hours, minutes or seconds, on some days of the year. */
const anyRule = fc
  .tuple(
    fc.constantFrom('DAILY', 'MONTHLY', 'YEARLY', 'HOURLY', 'MINUTELY', 'SECONDLY'),
    fc.constantFrom(2, 7, 17, 97, 365, 997, 1441, 10_007, 86_401),
    some('BYMONTH', 1, 12),
    some('BYMONTHDAY', -31, 31),
    fc.constantFrom('', ';BYDAY=SU', ';BYDAY=SA,SU', ';BYDAY=TH'),
    fc.constantFrom('', ';BYSECOND=0,59', ';BYHOUR=0,23;BYMINUTE=0,30,59'),
  )
  .map(([freq, interval, ...parts]) => `FREQ=${freq};INTERVAL=${interval}${parts.join('')}`)

describe('Pattern.mayMatchInYearKind', () => {
  it('returns false only if nothing matches in any year of the same kind', () => {
    let told = 0
    fc.assert(
      fc.property(
        anyRule,
        fc.integer({ min: 2100, max: 2499 }),
        fc.integer({ min: 2, max: 362 }),
        // These ranges often cross midnight.
        fc.oneof(fc.constantFrom(-5400, -3600, -1, 0), fc.integer({ min: 0, max: DAY_S - 1 })),
        fc.constantFrom(1800, 3600, 7200, DAY_S),
        (rule, year, day, time, length) => {
          const place = day * DAY_S + time
          const pattern = rrulePattern(readRrule(rule), START)
          const start = dayNumber(year, 1, 1) * DAY_S + place
          if (pattern.mayMatchInYearKind(start, start + length)) return
          told++
          for (let other = year; other < year + 1200; other++) {
            if (kindOf(other) !== kindOf(year)) continue
            const from = dayNumber(other, 1, 1) * DAY_S + place
            expect(pattern.count(from, from + length, 1), `${rule} in ${other}`).toBe(0)
          }
        },
      ),
      { numRuns: 1500 },
    )
    // If the method hardly ever returned false, it would be useless.
    expect(told).toBeGreaterThan(400)
  })
})

function kindOf(year: number): number {
  return weekdayOf(dayNumber(year, 1, 1)) * 2 + (isLeapYear(year) ? 1 : 0)
}
