import { describe, expect, it } from 'vitest'
import {
  civilDate,
  CYCLE_MONTHS,
  dayNumber,
  MAX_WAIT_MONTHS,
  monthLength,
  monthOf,
  monthStart,
  weekdayOf,
} from '../../src/schedule/calendar/calendar.js'

describe('Calendar arithmetic', () => {
  it('agrees with Date on every day of 400 years and at both ends of its range', () => {
    const wrong: string[] = []
    const check = (day: number) => {
      const date = new Date(day * 86_400_000)
      const expected = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
      const found = civilDate(day)
      const agrees =
        weekdayOf(day) === date.getUTCDay() &&
        dayNumber(found.year, found.month, found.day) === day &&
        found.year === expected.year &&
        found.month === expected.month &&
        found.day === expected.day
      if (!agrees) wrong.push(date.toISOString())
    }
    for (let day = dayNumber(1800, 1, 1); day < dayNumber(2201, 1, 1); day++) check(day)
    for (const year of [-9999, -1, 0, 1, 4, 100, 9999, 20_000]) {
      for (let day = dayNumber(year, 1, 1); day < dayNumber(year + 1, 1, 1); day++) check(day)
    }
    expect(wrong).toEqual([])
  })

  it('repeats every kind of month within MAX_WAIT_MONTHS', () => {
    const last = new Map<string, number>()
    let longest = 0
    for (let month = 0; month < 2 * CYCLE_MONTHS; month++) {
      const kind = `${month % 12} ${monthLength(month)} ${weekdayOf(monthStart(month))}`
      longest = Math.max(longest, month - (last.get(kind) ?? month))
      last.set(kind, month)
      expect(monthOf(monthStart(month))).toBe(month)
    }
    expect(last.size).toBe(12 * 7 + 7)
    expect(longest).toBeLessThan(MAX_WAIT_MONTHS)
  })
})
