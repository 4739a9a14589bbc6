import { cron, daily, monthly, rrule, type Schedule, yearly } from 'carillon/schedule'
import { describe, expect, it } from 'vitest'

const zone = 'America/New_York'

function reasons(schedule: Schedule, from: string, count: number, seed?: string): (readonly string[])[] {
  const options = { from: Date.parse(from), ...(seed !== undefined && { seed }) }
  return schedule.preview(count, options).map((occurrence) => occurrence.reasons)
}

describe('preview', () => {
  it('shows the instant, local time and offset', () => {
    expect(daily({ at: '09:00', zone }).preview(1, { from: Date.parse('2027-03-14T00:00Z') })).toEqual([
      { at: Date.parse('2027-03-14T13:00Z'), local: '2027-03-14T09:00:00', offset: '-04:00', reasons: [] },
    ])
  })

  it('includes an occurrence at `from`', () => {
    const from = Date.parse('2027-01-01T09:00Z')
    expect(daily({ at: '09:00' }).preview(1, { from })[0]!.at).toBe(from)
    expect(daily({ at: '09:00' }).preview(1, { from: from + 1 })[0]!.at).toBe(from + 86_400_000)
  })

  it('starts now by default, and ends with the schedule', () => {
    expect(daily().preview(1)[0]!.at).toBeGreaterThan(Date.UTC(2025, 0, 1))
    expect(daily({ until: 1000 }).preview(5, { from: 0 })).toHaveLength(1)
    expect(daily({ until: 1000 }).preview(5)).toEqual([])
  })

  it.each([
    ['next', ['02:30 does not exist on 2027-03-14 in America/New_York: 03:00']],
    ['shift', ['02:30 does not exist on 2027-03-14 in America/New_York: 03:30']],
  ] as const)('explains a missing local time under gap %s', (gap, expected) => {
    expect(reasons(cron('30 2 * * *', { zone, gap }), '2027-03-13T00:00Z', 3)).toEqual([[], expected, []])
  })

  it('explains a skipped local time with the next occurrence', () => {
    expect(reasons(cron('30 2 * * *', { zone, gap: 'skip' }), '2027-03-13T00:00Z', 3)).toEqual([
      [],
      ['02:30 does not exist on 2027-03-14 in America/New_York: skipped'],
      [],
    ])
  })

  it('explains each local time that moved to one instant, and sums up many', () => {
    expect(reasons(cron('*/30 2 * * *', { zone }), '2027-03-14T00:00Z', 1)).toEqual([
      [
        '02:00 does not exist on 2027-03-14 in America/New_York: 03:00',
        '02:30 does not exist on 2027-03-14 in America/New_York: 03:00',
      ],
    ])
    const [minutes] = reasons(cron('* 2 * * *', { zone }), '2027-03-14T00:00Z', 1)
    expect(minutes).toHaveLength(4)
    expect(minutes![3]).toBe('and 57 more local times that do not exist there')
    const [seconds] = reasons(cron('* * 2 * * *', { zone, gap: 'skip' }), '2027-03-14T06:59:59Z', 1)
    expect(seconds![3]).toBe('and many more local times that do not exist there')
  })

  it.each([
    ['first', ['01:30 comes twice on 2027-11-07 in America/New_York: the first, at UTC-04:00']],
    ['second', ['01:30 comes twice on 2027-11-07 in America/New_York: the second, at UTC-05:00']],
  ] as const)('explains a repeated local time under overlap %s', (overlap, expected) => {
    expect(reasons(daily({ at: '01:30', zone, overlap }), '2027-11-06T00:00Z', 3)).toEqual([[], expected, []])
  })

  it('explains both instants of a repeated local time', () => {
    expect(reasons(daily({ at: '01:30', zone, overlap: 'both' }), '2027-11-07T00:00Z', 3)).toEqual([
      ['01:30 comes twice on 2027-11-07 in America/New_York: both count, this is the first, at UTC-04:00'],
      ['01:30 comes twice on 2027-11-07 in America/New_York: both count, this is the second, at UTC-05:00'],
      [],
    ])
  })

  it('names the day to which a missing day moved', () => {
    const apia = daily({ at: '09:00', zone: 'Pacific/Apia' })
    expect(reasons(apia, '2011-12-30T00:00Z', 2)).toEqual([
      ['09:00 does not exist on 2011-12-30 in Pacific/Apia: 00:00 on 2011-12-31'],
      [],
    ])
  })

  it('explains dates that do not exist', () => {
    expect(reasons(yearly({ month: 2, day: 29 }), '2027-01-01T00:00Z', 2)).toEqual([
      ['2027-02-29 does not exist: 2027-02-28'],
      [],
    ])
    expect(reasons(yearly({ month: 2, day: 29, invalidDate: 'forward' }), '2027-01-01T00:00Z', 2)).toEqual([
      ['2027-02-29 does not exist: 2027-03-01'],
      [],
    ])
    expect(reasons(monthly({ day: 31, invalidDate: 'skip' }), '2027-01-01T00:00Z', 3)).toEqual([
      [],
      ['2027-02-31 does not exist: skipped'],
      ['2027-04-31 does not exist: skipped'],
    ])
  })

  it('explains a missing date and a missing time together', () => {
    const schedule = monthly({ day: 31, at: '02:45', zone: 'America/Caracas', invalidDate: 'forward' })
    expect(reasons(schedule, '2016-04-30T00:00Z', 1)).toEqual([
      [
        '2016-04-31 does not exist: 2016-05-01',
        '02:45 does not exist on 2016-05-01 in America/Caracas: 03:00',
      ],
    ])
    expect(reasons(rrule('FREQ=DAILY', { start: '2027-03-01T02:30', zone }), '2027-03-14T00:00Z', 1)).toEqual(
      [['02:30 does not exist on 2027-03-14 in America/New_York: 03:00']],
    )
  })

  it('shows the delay by jitter', () => {
    const [first] = reasons(daily({ jitter: '1h' }), '2027-01-01T00:00Z', 1, 'user:1')
    expect(first).toEqual([expect.stringMatching(/^\d+m.* later by jitter$/)])
  })

  it('gives no reasons for a schedule that follows elapsed time', () => {
    for (const from of ['2027-03-14T05:00Z', '2027-11-07T04:00Z']) {
      expect(reasons(cron('*/30 * * * *', { zone }), from, 8).flat()).toEqual([])
    }
  })

  it.each([0, -1, 1.5, Number.NaN, '3'])('refuses the count %s', (count) => {
    expect(() => daily().preview(count as number)).toThrow(/preview must be an integer/)
  })

  it('refuses unknown options', () => {
    expect(() => daily().preview(1, { after: 0 } as never)).toThrow(/does not know the option "after"/)
  })
})

describe('Schedule.describe', () => {
  it.each([
    [cron('0 9 * * MON-FRI', { zone }), 'at 09:00, on Monday to Friday in America/New_York'],
    [cron('*/15 9-17 * * *'), 'every 15 minutes, in hours 9 to 17 in UTC'],
    [cron('* * * * *'), 'every minute in UTC'],
    [cron('*/10 * * * * *'), 'every 10 seconds, every minute in UTC'],
    [cron('7 * * * *'), 'at minute 7 in UTC'],
    [cron('0 0 13 * FRI'), 'at 00:00, on day 13 of the month or on Friday in UTC'],
    [
      cron('0 0 */2 * MON'),
      'at 00:00, on days 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of the month if also on Monday in UTC',
    ],
    [
      cron('0 12 LW,L-2 JAN-MAR *'),
      'at 12:00, on the third to last day and the last workday of the month, in January to March in UTC',
    ],
    [
      cron('0 12 * * FRI#3,1L'),
      'at 12:00, on the third Friday of the month and the last Monday of the month in UTC',
    ],
    [daily({ at: ['09:00', '17:30'], zone }), 'every day at 09:00 and 17:30 in America/New_York'],
    [
      monthly({ day: [1, 31], at: '09:00' }),
      'every month on day 1 and day 31 (where missing, on the last day of the month) at 09:00 in UTC',
    ],
    [
      yearly({ month: 2, day: 29, invalidDate: 'forward' }),
      'every year on February 29 (where missing, on the first day of the next month) at 00:00 in UTC',
    ],
    [
      rrule('FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR', { start: '2027-01-04T09:00' }),
      'every 2 weeks on Monday and Friday from 2027-01-04T09:00 on in UTC',
    ],
    [
      rrule('FREQ=MONTHLY;BYDAY=-1FR;COUNT=3', { start: '2027-01-04T09:00', zone }),
      'every month on the last Friday 3 times from 2027-01-04T09:00 on in America/New_York',
    ],
    [
      daily({ from: '2027-01-01', until: '2028-01-01', times: 5, jitter: '5m' }),
      'every day at 00:00 in UTC, from 2027-01-01T00:00, until 2028-01-01T00:00, 5 times, up to 5m later, the same for each timer',
    ],
  ])('describes schedule %# in words', (schedule, words) => {
    expect(schedule.describe()).toBe(words)
  })
})
