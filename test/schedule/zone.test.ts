import { InvalidInputError } from 'carillon'
import { daily, tzdataVersion, weekly } from 'carillon/schedule'
import * as fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'

describe('Zones', () => {
  it('tzdataVersion and errors show the tz database release', () => {
    expect(tzdataVersion()).toMatch(/^20\d\d[a-z]$/)
    expect(() => daily({ zone: 'Mars/Base' })).toThrow(tzdataVersion())
  })

  it.each([
    ['UTC', 'UTC', 0],
    ['utc', 'UTC', 0],
    ['america/new_york', 'America/New_York', 300],
    ['Asia/Calcutta', 'Asia/Calcutta', -330],
    ['Asia/Kolkata', 'Asia/Kolkata', -330],
    ['Etc/GMT+5', 'Etc/GMT+5', 300],
    ['+05:30', '+05:30', -330],
    ['-23:59', '-23:59', 1439],
  ])('accepts the zone %s', (given, name, minutesBehind) => {
    const schedule = daily({ zone: given })
    expect(schedule.zone).toBe(name)
    const behind = (schedule.next(Date.UTC(2027, 0, 1))! / 60_000) % 1440
    expect(behind).toBe((minutesBehind + 1440) % 1440)
  })

  it.each(['', ' ', 'Mars/Base', 'GMT+5', '+5', '+0530', '+24:00', '+05:60', 'x'.repeat(100), 7, null, {}])(
    'refuses the zone %j',
    (zone) => {
      const attempt = () => daily({ zone: zone as string })
      expect(attempt).toThrow(InvalidInputError)
      expect(attempt).toThrow(expect.objectContaining({ code: 'invalid-zone' }))
      expect(attempt).toThrow(/Europe\/Paris/)
    },
  )

  it('use local solar time before standard time, exact to the second', () => {
    // New York was 4:56:02 behind Greenwich until noon of 1883-11-18.
    const noon = daily({ at: '12:00', zone: 'America/New_York' })
    expect(noon.next(Date.UTC(1850, 0, 1))).toBe(Date.parse('1850-01-01T16:56:02Z'))
    expect(noon.preview(1, { from: Date.UTC(1850, 0, 1) })[0]!.offset).toBe('-04:56:02')
    expect(noon.next(Date.parse('1883-11-18T00:00Z'))).toBe(Date.parse('1883-11-18T16:56:02Z'))
  })

  it('continue their current rule into the far future, as Temporal does', () => {
    const zones = [
      'America/New_York',
      'Europe/Dublin',
      'Australia/Lord_Howe',
      'America/Santiago',
      'Asia/Tokyo',
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 2100, max: 9998 }),
        fc.constantFrom(1, 3, 4, 9, 10, 11),
        fc.integer({ min: 1, max: 28 }),
        fc.constantFrom('00:00', '01:45', '02:15', '12:00'),
        (zone, year, month, day, at) => {
          const local = Temporal.PlainDate.from({ year, month, day }).toPlainDateTime(at)
          const expected = local.toZonedDateTime(zone).epochMilliseconds
          expect(daily({ zone, at, gap: 'shift' }).next(expected - 1)).toBe(expected)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('notice a change that lies just behind the part that was probed', () => {
    // Three days from here lie between the first 01:30 of November 7 and the change of clocks.
    const after = Date.parse('2027-11-04T05:45Z')
    const schedule = weekly({ on: 'sunday', at: '01:30', zone: 'America/Detroit', overlap: 'second' })
    expect(schedule.next(after)).toBe(Date.parse('2027-11-07T06:30Z'))
  })

  it('count each local time once where a zone went back by almost a day', () => {
    const options = {
      at: ['00:59', '01:15', '01:45'],
      zone: 'Pacific/Kwajalein',
      from: Date.parse('1969-09-20T22:00Z'),
      overlap: 'second' as const,
    }
    const endless = daily(options)
    let last = options.from - 1
    for (let times = 1; times < 50; times++) {
      last = endless.next(last)!
      expect(daily({ ...options, times }).next(last)).toBeUndefined()
    }
  })

  it('return the same results near a change after a query for another instant', () => {
    const change = Date.parse('2027-03-14T09:00Z')
    const schedule = daily({ at: '02:30', zone: 'America/Boise', gap: 'shift' })
    // The neighbourhood probed around this instant begins twenty minutes after the change.
    schedule.next(change + 3 * 86_400_000 + 20 * 60_000)
    expect(schedule.next(change + 25 * 60_000)).toBe(change + 30 * 60_000)
  })
})
