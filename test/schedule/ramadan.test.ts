import { describe, expect, it } from 'vitest'
import { ramadansIn } from '../../src/schedule/zone/ramadan.js'

const calendar = new Intl.DateTimeFormat('en-US', {
  calendar: 'islamic-civil',
  timeZone: 'UTC',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
})

describe('ramadansIn', () => {
  it('agrees with the Islamic calendar of Intl for every year with its own clock changes', () => {
    const found: number[] = []
    for (let year = 2000; year <= 2100; year++) {
      for (const day of ramadansIn(year)) {
        const at = Date.UTC(year, 0, 1 + day)
        expect(new Date(at).getUTCFullYear()).toBe(year)
        const [month, dayOfMonth, moonYear] = calendar.format(at).split(/\D+/).map(Number)
        expect(month).toBe(9)
        expect(Math.abs(dayOfMonth! - 15)).toBeLessThanOrEqual(3)
        found.push(moonYear!)
      }
    }
    // Every Ramadan is found exactly once.
    expect(found).toEqual(Array.from(found, (_, i) => found[0]! + i))
    expect(found.length).toBe(104)
  })
})
