import { dayNumber } from '../calendar/calendar.js'

// The middle of Ramadan 1445, and the mean length of a lunar year.
const MIDDLE_DAY = dayNumber(2024, 3, 25)
const MOON_YEAR_DAYS = 354 + 11 / 30

/**
 * Returns the days of a year that lie in the middle of Ramadan, exact to a day or two, counted from January 1
 * as 0. There are one or two. Where Ramadan interrupts summer time, clocks show it on these days.
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
