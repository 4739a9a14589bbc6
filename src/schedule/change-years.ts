/**
 * On which days of a year to look at clocks. What happened in years gone by nobody can change any more: for each era
 * there are a few days such that clocks that were changed for a time, in any zone, showed it on one of them. Years to
 * come may bring what nobody has done yet and are looked at closely. `npm run walk` checks it for every zone that Node
 * knows.
 */

/** Nobody put clocks forward for a summer before 1908: offsets were kept for years. */
export const FIRST_SUMMER_TIME = 1908

/** Before that, no zone came back to an offset within so many years. */
export const EARLY_YEARS = 10

/** What comes from here on may be decided otherwise. */
export const FIRST_TO_COME = 2025

interface Era {
  readonly untilExclusive: number
  /** Where nothing changed in the year before, a change that is taken back in this one shows on one of these. */
  readonly lookAt: readonly number[]
  /** Between any two changes there is one of these. */
  readonly search: readonly number[]
}

const every = (days: number): readonly number[] =>
  Array.from({ length: Math.ceil(365 / days) - 1 }, (_, i) => (i + 1) * days)

const erasGoneBy: readonly Era[] = [
  { untilExclusive: 1925, lookAt: [110, 170, 250], search: [45, 103, 151, 193, 259] },
  { untilExclusive: 1941, lookAt: [128, 196, 256], search: [89, 92, 128, 196, 279] },
  { untilExclusive: 1950, lookAt: [96, 196, 256], search: [1, 96, 107, 128, 173, 196, 277, 279] },
  { untilExclusive: 1975, lookAt: [115, 187, 287], search: [31, 74, 128, 187, 293] },
  { untilExclusive: 2000, lookAt: [1, 152, 256], search: [18, 86, 105, 152, 216, 271] },
  {
    untilExclusive: FIRST_TO_COME,
    lookAt: [70, 153, 303],
    search: [21, 70, 110, 153, 188, 222, 267, 288, 303],
  },
]

const NONE: readonly number[] = []
export const EVERY_FOUR_WEEKS = every(28)
// The shortest time any zone kept an offset is 6.96 days.
const EVERY_SIX_DAYS = every(6)
const EVERY_MONTH = every(30)

/**
 * The days to look at in a year that seems to run like the one before it, whose clocks changed or did not. In years
 * gone by those that changed by one rule did nothing else.
 */
export function daysToLookAt(year: number, hasChanges: boolean): readonly number[] {
  const era = eraOf(year)
  if (era === undefined) return EVERY_FOUR_WEEKS
  return hasChanges ? NONE : era.lookAt
}

/** The days to look at in a year of which nothing is known. From `yearlyFrom` on a rule holds and nothing else. */
export function daysToSearch(year: number, yearlyFrom: number): readonly number[] {
  return eraOf(year)?.search ?? (year < yearlyFrom ? EVERY_SIX_DAYS : EVERY_MONTH)
}

function eraOf(year: number): Era | undefined {
  return erasGoneBy.find(({ untilExclusive }) => year < untilExclusive)
}
