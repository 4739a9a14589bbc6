import * as front from 'carillon'
import { InvalidInputError } from 'carillon'
import { daily, every, monthly, type Schedule, weekly, yearly } from 'carillon/schedule'
import { describe, expect, it } from 'vitest'

const FROM = Date.UTC(2027, 0, 1)

function first(count: number, schedule: Schedule, from = FROM): string[] {
  return schedule.preview(count, { from }).map(({ local }) => local.replace(/:00$/, ''))
}

describe('every', () => {
  it('is anchored at the epoch by default', () => {
    expect(first(3, every('15m'))).toEqual(['2027-01-01T00:00', '2027-01-01T00:15', '2027-01-01T00:30'])
    expect(every('7h').next(FROM)! % (7 * 3_600_000)).toBe(0)
    expect(every('1d').next(-1)).toBe(0)
    expect(every('1d').next(0)).toBe(86_400_000)
    expect(every('1d').next(-86_400_001)).toBe(-86_400_000)
  })

  it('runs in both directions from its anchor', () => {
    const schedule = every('1w', { anchor: '2027-01-06T09:00Z' })
    expect(first(2, schedule)).toEqual(['2027-01-06T09:00', '2027-01-13T09:00'])
    expect(schedule.next(Date.UTC(2026, 11, 25))).toBe(Date.parse('2026-12-30T09:00Z'))
    expect(every(1000, { anchor: 1 }).next(0)).toBe(1)
  })

  it('refuses a duration of 0, an invalid duration and unknown options', () => {
    expect(() => every(0)).toThrow(/at least 1ms/)
    expect(() => every('soon')).toThrow(expect.objectContaining({ code: 'invalid-duration' }))
    expect(() => every('1d', { anchor: '2027-02-30' })).toThrow(/anchor/)
    expect(() => every('1d', { zone: 'UTC' } as never)).toThrow(
      expect.objectContaining({ code: 'unknown-option' }),
    )
  })
})

describe('daily and weekly', () => {
  it('accept one time or several, and default to midnight', () => {
    expect(first(2, daily())).toEqual(['2027-01-01T00:00', '2027-01-02T00:00'])
    expect(first(3, daily({ at: ['17:30:15', '09:00', '09:00'] }))).toEqual([
      '2027-01-01T09:00',
      '2027-01-01T17:30:15',
      '2027-01-02T09:00',
    ])
  })

  it('accept one weekday or several', () => {
    expect(first(3, weekly({ on: 'monday', at: '09:00' }))).toEqual([
      '2027-01-04T09:00',
      '2027-01-11T09:00',
      '2027-01-18T09:00',
    ])
    expect(first(3, weekly({ on: ['sunday', 'friday'] }))).toEqual([
      '2027-01-01T00:00',
      '2027-01-03T00:00',
      '2027-01-08T00:00',
    ])
  })

  it.each(['9:00', '24:00', '12:60', '12:00:60', '', '12', '12:00 ', 'noon', 900, null])(
    'refuse the time %j',
    (at) => {
      expect(() => daily({ at: at as string })).toThrow(expect.objectContaining({ code: 'invalid-time' }))
    },
  )

  it.each([
    [{ on: [] }, /at least one/],
    [{ on: 'mon' }, /weekdays such as/],
    [{ on: 1 }, /weekdays such as/],
    [{}, /weekdays such as/],
    [{ on: 'monday', at: [] }, /at least one/],
    [{ on: 'monday', at: Array.from({ length: 97 }, () => '09:00') }, /at most 96/],
    [{ on: 'monday', zone: 'Mars/Base' }, /Mars\/Base/],
    [{ on: 'monday', gap: 'jump' }, /'next', 'shift', 'skip'/],
    [{ on: 'monday', overlap: 'third' }, /'first', 'second', 'both'/],
    [{ on: 'monday', tz: 'UTC' }, /does not know the option "tz"/],
  ])('refuse the options %j', (options, why) => {
    expect(() => weekly(options as never)).toThrow(why)
  })
})

describe('monthly and yearly', () => {
  it.each([
    ['backward', ['01-31', '02-28', '03-31', '04-30', '05-31']],
    ['forward', ['01-31', '03-01', '03-31', '05-01', '05-31']],
    ['skip', ['01-31', '03-31', '05-31', '07-31', '08-31']],
  ] as const)('handle day 31 with invalidDate %s', (invalidDate, dates) => {
    expect(first(5, monthly({ day: 31, invalidDate }))).toEqual(dates.map((date) => `2027-${date}T00:00`))
  })

  it.each([
    ['backward', ['2027-02-28', '2028-02-29', '2029-02-28', '2030-02-28', '2031-02-28', '2032-02-29']],
    ['forward', ['2027-03-01', '2028-02-29', '2029-03-01', '2030-03-01', '2031-03-01', '2032-02-29']],
    ['skip', ['2028-02-29', '2032-02-29', '2036-02-29']],
  ] as const)('handle February 29 with invalidDate %s', (invalidDate, dates) => {
    const schedule = yearly({ month: 2, day: 29, at: '09:00', zone: 'America/New_York', invalidDate })
    expect(first(dates.length, schedule)).toEqual(dates.map((date) => `${date}T09:00`))
  })

  it('take the last day of the month by default', () => {
    expect(first(1, yearly({ month: 2, day: 29 }))).toEqual(['2027-02-28T00:00'])
    expect(first(2, monthly({ day: 30 }))).toEqual(['2027-01-30T00:00', '2027-02-28T00:00'])
  })

  it('know that 1900 and 2100 are not leap years', () => {
    const leap = yearly({ month: 2, day: 29, invalidDate: 'skip' })
    expect(leap.next(Date.UTC(2096, 2))).toBe(Date.UTC(2104, 1, 29))
    expect(leap.next(Date.UTC(1896, 2))).toBe(Date.UTC(1904, 1, 29))
    expect(leap.next(Date.UTC(1999, 2))).toBe(Date.UTC(2000, 1, 29))
  })

  it('fire once on days that coincide', () => {
    expect(first(4, monthly({ day: [30, 31, 'last'] }))).toEqual([
      '2027-01-30T00:00',
      '2027-01-31T00:00',
      '2027-02-28T00:00',
      '2027-03-30T00:00',
    ])
    expect(first(3, monthly({ day: [1, 31], invalidDate: 'forward' }), Date.UTC(2027, 1, 2))).toEqual([
      '2027-03-01T00:00',
      '2027-03-31T00:00',
      '2027-04-01T00:00',
    ])
    expect(first(2, yearly({ month: 12, day: 'last' }))).toEqual(['2027-12-31T00:00', '2028-12-31T00:00'])
  })

  it.each([
    [() => monthly({ day: 0 }), /1 to 31 or 'last'/],
    [() => monthly({ day: 32 }), /1 to 31 or 'last'/],
    [() => monthly({ day: 1.5 }), /got 1.5/],
    [() => monthly({ day: [] }), /at least one/],
    [() => monthly({} as never), /got undefined/],
    [() => monthly({ day: 1, invalidDate: 'up' as never }), /'backward', 'forward', 'skip'/],
    [() => yearly({ month: 2, day: 30 }), /day must be 1 to 29/],
    [() => yearly({ month: 4, day: 31 }), /day must be 1 to 30/],
    [() => yearly({ month: 13, day: 1 }), /month must be 1 to 12/],
    [() => yearly({ month: '2' as never, day: 1 }), /month must be 1 to 12, got "2"/],
    [() => yearly(undefined as never), /takes an object of options/],
    [() => daily({ invalidDate: 'skip' } as never), /does not know the option "invalidDate"/],
  ])('refuse %s', (attempt, why) => {
    expect(attempt).toThrow(InvalidInputError)
    expect(attempt).toThrow(why)
  })
})

describe('The package carillon', () => {
  it('exports all builders', () => {
    expect(front).toMatchObject(
      Object.fromEntries(
        ['cron', 'every', 'daily', 'weekly', 'monthly', 'yearly', 'rrule', 'parseSchedule'].map((name) => [
          name,
          expect.any(Function),
        ]),
      ),
    )
  })
})
