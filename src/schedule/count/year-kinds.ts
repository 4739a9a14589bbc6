import { dayNumber, isLeapYear, weekdayOf } from '../calendar/calendar.js'

/** Dates and weekdays repeat after this many years. */
export const CYCLE_YEARS = 400

/** How many kinds there are if neighbours do not matter: seven first weekdays and two lengths. */
export const PLAIN_KINDS = 14

/** Every kind is a number below this. */
export const KIND_LIMIT = 56

const known: (Uint8Array | undefined)[] = []

/**
 * Returns the kind of each year of a 400-year cycle, so that loops over millennia need not compute it. Years
 * of a kind begin on the same weekday and have the same length; bit 0 is set for leap years. With
 * `dependsOnNeighbours`, the years next to them have the same lengths, too.
 */
export function kindsOfYears(dependsOnNeighbours: boolean): Uint8Array {
  return (known[dependsOnNeighbours ? 1 : 0] ??= findKinds(dependsOnNeighbours))
}

function findKinds(dependsOnNeighbours: boolean): Uint8Array {
  const kinds = new Uint8Array(CYCLE_YEARS)
  const neighbours = dependsOnNeighbours ? 1 : 0
  let weekday = weekdayOf(dayNumber(0, 1, 1))
  let before = 0
  let leap = 1
  for (let year = 0; year < CYCLE_YEARS; year++) {
    const behind = isLeapYear(year + 1) ? 1 : 0
    kinds[year] = (weekday * 4 + neighbours * (before * 2 + behind)) * 2 + leap
    weekday = (weekday + 1 + leap) % 7
    before = leap
    leap = behind
  }
  return kinds
}
