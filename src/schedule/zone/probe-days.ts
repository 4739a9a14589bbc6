/**
 * The days of a year on which to probe a zone's clocks. The past is fixed: for each era a few days suffice to
 * see every temporary change that any zone made. Future years may bring something new, so they are probed
 * closely. `npm run walk` checks these days for every zone that Node knows.
 */

/** No zone had summer time before 1908. Offsets lasted for years. */
export const FIRST_SUMMER_TIME = 1908

/** Before 1908, no zone returned to an earlier offset within this many years. */
export const EARLY_YEARS = 10

/** From this year on, governments may still change their rules. */
export const FIRST_FUTURE_YEAR = 2025

interface Era {
  readonly untilExclusive: number
  /** If the previous year had no change, a temporary change in this year covers one of these days. */
  readonly check: readonly number[]
  /** Between any two changes lies at least one of these days. */
  readonly search: readonly number[]
}

const every = (days: number): readonly number[] =>
  Array.from({ length: Math.ceil(365 / days) - 1 }, (_, i) => (i + 1) * days)

const pastEras: readonly Era[] = [
  { untilExclusive: 1925, check: [110, 170, 250], search: [45, 103, 151, 193, 259] },
  { untilExclusive: 1941, check: [128, 196, 256], search: [89, 92, 128, 196, 279] },
  { untilExclusive: 1950, check: [96, 196, 256], search: [1, 96, 107, 128, 173, 196, 277, 279] },
  { untilExclusive: 1975, check: [115, 187, 287], search: [31, 74, 128, 187, 293] },
  { untilExclusive: 2000, check: [1, 152, 256], search: [18, 86, 105, 152, 216, 271] },
  {
    untilExclusive: FIRST_FUTURE_YEAR,
    check: [70, 153, 303],
    search: [21, 70, 110, 153, 188, 222, 267, 288, 303],
  },
]

const NONE: readonly number[] = []
export const EVERY_FOUR_WEEKS = every(28)
// The shortest time that any zone kept an offset is 6.96 days.
const EVERY_SIX_DAYS = every(6)
const EVERY_MONTH = every(30)

/**
 * Returns the days that confirm a year that seems to repeat the previous one. `hasChanges` says whether that
 * one had changes. In the past, years that repeated a rule had no other changes.
 */
export function daysToCheck(year: number, hasChanges: boolean): readonly number[] {
  const era = eraOf(year)
  if (era === undefined) return EVERY_FOUR_WEEKS
  return hasChanges ? NONE : era.check
}

/**
 * Returns the days to probe in a year of which nothing is known. From `yearlyFrom` on, only the yearly rule
 * changes clocks.
 */
export function daysToSearch(year: number, yearlyFrom: number): readonly number[] {
  return eraOf(year)?.search ?? (year < yearlyFrom ? EVERY_SIX_DAYS : EVERY_MONTH)
}

function eraOf(year: number): Era | undefined {
  return pastEras.find(({ untilExclusive }) => year < untilExclusive)
}
