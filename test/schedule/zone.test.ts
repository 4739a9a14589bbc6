import { InvalidInputError } from 'carillon'
import { daily, tzdataVersion } from 'carillon/schedule'
import { describe, expect, it } from 'vitest'

describe('zones', () => {
  it('shows which tz database it goes by', () => {
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
  ])('takes %s', (given, name, minutesBehind) => {
    const schedule = daily({ zone: given })
    expect(schedule.zone).toBe(name)
    const behind = (schedule.next(Date.UTC(2027, 0, 1))! / 60_000) % 1440
    expect(behind).toBe((minutesBehind + 1440) % 1440)
  })

  it.each(['', ' ', 'Mars/Base', 'GMT+5', '+5', '+0530', '+24:00', '+05:60', 'x'.repeat(100), 7, null, {}])(
    'refuses %j',
    (zone) => {
      const attempt = () => daily({ zone: zone as string })
      expect(attempt).toThrow(InvalidInputError)
      expect(attempt).toThrow(expect.objectContaining({ code: 'invalid-zone' }))
      expect(attempt).toThrow(/Europe\/Paris/)
    },
  )

  it('follows the sun before standard time, to the second', () => {
    // New York kept 4:56:02 behind Greenwich until noon of 1883-11-18.
    const noon = daily({ at: '12:00', zone: 'America/New_York' })
    expect(noon.next(Date.UTC(1850, 0, 1))).toBe(Date.parse('1850-01-01T16:56:02Z'))
    expect(noon.preview(1, { from: Date.UTC(1850, 0, 1) })[0]!.offset).toBe('-04:56:02')
    expect(noon.next(Date.parse('1883-11-18T00:00Z'))).toBe(Date.parse('1883-11-18T16:56:02Z'))
  })

  it('carries today’s rule into the far future', () => {
    const newYork = daily({ at: '12:00', zone: 'America/New_York' })
    const hour = (date: string) => new Date(newYork.next(Date.parse(date))!).getUTCHours()
    for (const year of [2199, 2200, 2300, 4000, 9998]) {
      expect([hour(`${year}-01-15T00:00Z`), hour(`${year}-07-15T00:00Z`)]).toEqual([17, 16])
      const winter = Intl.DateTimeFormat('en-US', {
        timeZone: 'America/New_York',
        hourCycle: 'h23',
        hour: '2-digit',
      })
      expect(winter.format(newYork.next(Date.parse(`${year}-03-10T00:00Z`)))).toBe('12')
    }
  })
})
