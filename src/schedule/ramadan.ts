import { dayNumber } from './calendar.js'

// The middle of Ramadan 1445, and the mean length of a year of twelve moons.
const MIDDLE_DAY = dayNumber(2024, 3, 25)
const MOON_YEAR_DAYS = 354 + 11 / 30

/**
 * The days in the middle of Ramadan in a year, within a day or two, counted from the year's first: there are one or
 * two. Where clocks follow the moon they show it then.
 */
export function ramadansIn(year: number): readonly number[] {
  const yearStart = dayNumber(year, 1, 1)
  const yearEnd = dayNumber(year + 1, 1, 1)
  const days: number[] = []
  let moonYear = Math.ceil((yearStart + 1 - MIDDLE_DAY) / MOON_YEAR_DAYS)
  for (;;) {
    const day = Math.floor(MIDDLE_DAY + moonYear++ * MOON_YEAR_DAYS)
    if (day >= yearEnd) return days
    days.push(day - yearStart)
  }
}
