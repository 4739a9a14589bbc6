import { dayNumber, isLeapYear, weekdayOf } from './calendar.js'

/** After so many years dates and weekdays come again. */
export const CYCLE_YEARS = 400

/** Kinds of years are less than this. */
export const MOST_KINDS = 56

const known: (Uint8Array | undefined)[] = []

/**
 * The kinds of the years of a cycle, so that who runs through millennia need not work them out: years of one kind
 * begin on one weekday and are of one length, which bit 0 tells, and so are their neighbours if that is asked for.
 */
export function kindsOfYears(hasNeighbours: boolean): Uint8Array {
  return (known[hasNeighbours ? 1 : 0] ??= findKinds(hasNeighbours))
}

function findKinds(hasNeighbours: boolean): Uint8Array {
  const kinds = new Uint8Array(CYCLE_YEARS)
  const neighbours = hasNeighbours ? 1 : 0
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
