/**
 * Gregorian calendar arithmetic on day numbers. Day 0 is 1970-01-01, and earlier days are negative. The
 * calendar runs unchanged in both directions. Months have numbers, too, counted from January of year 0. So no
 * step of days or months needs a special case at the turn of a year.
 */
export const DAY_S = 86_400

/** Dates, weekdays and leap years repeat after this many months: 400 years are a whole number of weeks. */
export const CYCLE_MONTHS = 4800
export const CYCLE_DAYS = 146_097

/**
 * A month of the same name, length and first weekday comes again within 40 years. February 29 takes that long
 * around 1900.
 */
export const MAX_WAIT_MONTHS = 481

export interface CivilDate {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  readonly day: number
}

const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

export function monthIndex(year: number, month: number): number {
  return year * 12 + month - 1
}

export function monthLength(index: number): number {
  const month = modulo(index, 12)
  return month === 1 && isLeapYear(Math.floor(index / 12)) ? 29 : lengths[month]!
}

/** Returns the day number of a month's first day. */
export function monthStart(index: number): number {
  // Counted from March, the leap day comes last. So one formula gives all month lengths.
  const fromMarch = index - 2
  const year = Math.floor(fromMarch / 12)
  const month = fromMarch - year * 12
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400)
  return year * 365 + leapDays + Math.floor((153 * month + 2) / 5) - 719_468
}

export function dayNumber(year: number, month: number, day: number): number {
  return monthStart(monthIndex(year, month)) + day - 1
}

/** Returns the month number of a day. */
export function monthOf(day: number): number {
  const shifted = day + 719_468
  const cycle = Math.floor(shifted / CYCLE_DAYS)
  const dayOfCycle = shifted - cycle * CYCLE_DAYS
  const yearOfCycle = Math.floor(
    (dayOfCycle -
      Math.floor(dayOfCycle / 1460) +
      Math.floor(dayOfCycle / 36_524) -
      Math.floor(dayOfCycle / 146_096)) /
      365,
  )
  const dayOfYear =
    dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100))
  return (cycle * 400 + yearOfCycle) * 12 + Math.floor((5 * dayOfYear + 2) / 153) + 2
}

export function yearOf(day: number): number {
  return Math.floor(monthOf(day) / 12)
}

export function civilDate(day: number): CivilDate {
  const index = monthOf(day)
  const year = Math.floor(index / 12)
  return { year, month: index - year * 12 + 1, day: day - monthStart(index) + 1 }
}

/** 0 is Sunday, as cron counts. */
export function weekdayOf(day: number): number {
  return day + 4 - Math.floor((day + 4) / 7) * 7
}

export function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

export function leastMultiple(a: number, b: number): number {
  return (a / greatestDivisor(a, b)) * b
}

export function modulo(value: number, divisor: number): number {
  return value - Math.floor(value / divisor) * divisor
}
