import {
  civilDate,
  DAY_S,
  dayNumber,
  isLeapYear,
  modulo,
  monthIndex,
  monthLength,
  weekdayOf,
} from './calendar.js'
import { formatClock } from './wall-text.js'
import { ChangeFinder, findSegments, type IntlOffsets } from './segment.js'

/** A change of clocks: the first second of the new offset, and the offsets before and after it. */
export interface Change {
  readonly at: number
  readonly before: number
  readonly after: number
}

// Nobody put clocks forward for a summer before 1908: offsets were kept for more than a year.
const FIRST_SUMMER_TIME = 1908

// Years that nobody can change any more, by the shortest time for which a zone left an offset in them: three weeks
// (Honolulu, 1933), a week in and after the war (Tunis, 1943), five weeks (Gaza, 1967), and a week again (Brazil, 2000).
const WAR = 1941
const PEACE = 1950
const UNREST = 2000
const BEFORE_WAR_S = 20 * DAY_S
const IN_PEACE_S = 30 * DAY_S

// In a year gone by whose changes are where the year before had them there never was anything else for less than
// twelve weeks; years to come may bring what nobody has done yet, such as four weeks of Ramadan. In a year without
// any, like the one before, nothing was shorter than twelve days (Tucumán, 2004).
const FIRST_TO_COME = 2025
const QUIET_S = 28 * DAY_S
const QUIET_GONE_BY_S = 84 * DAY_S
const QUIET_WITHOUT_CHANGES_S = 11 * DAY_S

// Rules such as "the last Sunday" move a change by six days at the most, those that follow the moon by a fortnight.
const MOVED_BY_WEEKDAY_DAYS = 6
const EARLIER_DAYS = 17
const LATER_DAYS = 8

// What follows the moon may leave a week between itself and the end of summer: that is looked for closely.
const CLOSE_S = 6 * DAY_S
const MOON_S = 60 * DAY_S

// ICU and the tz database write out single years up to 2037; what they write out later follows the moon.
const FIRST_BY_RULE = 2038
const RULE_CHECKS = [2038, 2039, 2045, 2052, 2059, 2066, 2073, 2080, 2087]

/**
 * The changes of a zone's clocks, a year at a time and in order. A year is found from the one before it: its
 * changes are mostly the same, so that two questions for each and some between them suffice; where that fails the
 * year is searched through. `npm run walk` holds every zone that Node knows against the thorough search.
 */
export class ChangeTable {
  readonly #offsets: IntlOffsets
  readonly #years = new Map<number, readonly Change[]>()
  readonly #yearlyFrom: number
  readonly #finder: ChangeFinder
  /** A year of each kind in which there is the rule of later years and nothing else. */
  readonly #byKind: (number | undefined)[] = []
  #followsRule: boolean | undefined

  /** From the year `yearlyFrom` on there is a yearly rule and nothing else. */
  constructor(offsets: IntlOffsets, yearlyFrom: number) {
    this.#offsets = offsets
    this.#finder = new ChangeFinder((second) => offsets.at(second))
    this.#yearlyFrom = yearlyFrom
  }

  /** The changes of a year of UTC. */
  in(year: number): readonly Change[] {
    let found = this.#years.get(year)
    if (found === undefined) {
      found = this.#find(year)
      this.#years.set(year, found)
    }
    return found
  }

  #find(year: number): readonly Change[] {
    if (year < FIRST_SUMMER_TIME) return this.#findOne(year)
    if (year > this.#yearlyFrom || (year >= FIRST_BY_RULE && year < this.#yearlyFrom && this.#isByRule())) {
      return this.#findOfKind(year)
    }
    const like = this.#years.get(year - 1)
    return (like && this.#findLike(year, like)) ?? this.#search(year)
  }

  /** Whether the rule of later years holds already, as far as some years between tell. */
  #isByRule(): boolean {
    return (this.#followsRule ??= RULE_CHECKS.every(
      (year) => this.#findLike(year, this.in(this.#yearlyFrom), QUIET_GONE_BY_S) !== undefined,
    ))
  }

  /** The changes of a year of the rule: years of one kind have the same. */
  #findOfKind(year: number): readonly Change[] {
    const yearStart = dayNumber(year, 1, 1)
    const kind = weekdayOf(yearStart) * 2 + (isLeapYear(year) ? 1 : 0)
    const like = (this.#byKind[kind] ??= year)
    if (like === year) return this.#findByRule(year) ?? this.#search(year)
    const shift = (yearStart - dayNumber(like, 1, 1)) * DAY_S
    return this.in(like).map(({ at, before, after }) => ({ at: at + shift, before, after }))
  }

  #findByRule(year: number): readonly Change[] | undefined {
    const found: Change[] = []
    for (const { at, before, after } of this.in(this.#yearlyFrom)) {
      const here = this.#place(year, at, before, after)
      if (here === undefined) return undefined
      found.push({ at: here, before, after })
    }
    return found
  }

  #findOne(year: number): readonly Change[] {
    const before = beforeYear(year)
    const last = beforeYear(year + 1)
    const offset = this.#offsets.at(before)
    const after = this.#offsets.at(last)
    if (offset === after) return []
    const at = this.#finder.find(before, last, offset)
    return [{ at, before: offset, after }]
  }

  #search(year: number): readonly Change[] {
    const from = beforeYear(year) + 1
    const segments = findSegments(
      (second) => this.#offsets.at(second),
      from,
      beforeYear(year + 1) + 1,
      searchStride(year, this.#yearlyFrom),
      this.#finder,
    )
    return segments
      .filter((segment) => segment.offset !== segment.offsetBefore)
      .map(({ start, offset, offsetBefore }) => ({ at: start, before: offsetBefore, after: offset }))
  }

  /** The changes of a year that runs like another; undefined when it does not. */
  #findLike(
    year: number,
    like: readonly Change[],
    quiet: number = year < FIRST_TO_COME ? QUIET_GONE_BY_S : QUIET_S,
  ): readonly Change[] | undefined {
    // What that year ended with must be what it began with.
    if (like[0]?.before !== like.at(-1)?.after) return undefined
    const stride = like.length > 0 ? quiet : quietStride(year)
    const found: Change[] = []
    const last = beforeYear(year + 1)
    let from = beforeYear(year)
    let closeUntil = from
    let current = like[0]?.before ?? this.#offsets.at(from)
    const isQuietUntil = (until: number) => {
      const close = Math.min(closeUntil, until)
      return (
        (close <= from || this.#isQuiet(from, close, CLOSE_S, current)) &&
        this.#isQuiet(from, until, stride, current)
      )
    }
    for (const { at: atThere, before, after } of like) {
      const at = before === current ? this.#place(year, atThere, before, after) : undefined
      if (at === undefined || at <= from || at > last || !isQuietUntil(at - 1)) return undefined
      found.push({ at, before, after })
      current = after
      // The end of that day: questions at one time of day are compared without being read.
      from = (Math.floor(at / DAY_S) + 1) * DAY_S - 1
      closeUntil = hasMoved(atThere, at) ? from + MOON_S : from
    }
    return isQuietUntil(last) && this.#offsets.at(last) === current ? found : undefined
  }

  /** Where a change of another year comes in this one, if it does. */
  #place(year: number, atThere: number, before: number, after: number): number | undefined {
    const dayThere = Math.floor(atThere / DAY_S)
    const time = atThere - dayThere * DAY_S
    const { month, day } = civilDate(dayThere)
    const isChange = (at: number) => this.#offsets.at(at - 1) === before && this.#offsets.at(at) === after
    const guess = sameWeekday(year, month, day, dayThere) * DAY_S + time
    if (isChange(guess)) return guess
    const sameDate = dayNumber(year, month, Math.min(day, 28))
    let low = sameDate - EARLIER_DAYS
    let high = sameDate + LATER_DAYS
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#offsets.at(middle * DAY_S + time) === before) low = middle
      else high = middle
    }
    return isChange(high * DAY_S + time) ? high * DAY_S + time : undefined
  }

  /** Whether an offset that is kept at the first of two instants is kept every so many days up to the second. */
  #isQuiet(from: number, until: number, stride: number, offset: number): boolean {
    const offsets = this.#offsets
    const text = formatClock(modulo(from + offset, DAY_S))
    for (let second = from + stride; second < until; second += stride) {
      if (offsets.timeAt(second) !== text) return false
    }
    return true
  }
}

/** How often to look at a year of which nothing is known. */
function searchStride(year: number, yearlyFrom: number): number {
  if (year < WAR) return BEFORE_WAR_S
  return (year >= PEACE && year < UNREST) || year >= yearlyFrom ? IN_PEACE_S : CLOSE_S
}

/** How often to look at a year that seems to have no changes. */
function quietStride(year: number): number {
  if (year < WAR) return BEFORE_WAR_S
  return year >= PEACE && year < UNREST ? IN_PEACE_S : QUIET_WITHOUT_CHANGES_S
}

/** Whether a change comes at another time of the year, by more than a rule for weekdays explains. */
function hasMoved(atThere: number, at: number): boolean {
  const days = modulo(Math.round((at - atThere) / DAY_S), 365)
  return Math.min(days, 365 - days) > MOVED_BY_WEEKDAY_DAYS
}

/** The last second before a year: a change at the first second of a year belongs to it. */
function beforeYear(year: number): number {
  return dayNumber(year, 1, 1) * DAY_S - 1
}

/** The day of a year with the same weekday in the same week of the same month, or in the last one. */
function sameWeekday(year: number, month: number, day: number, dayThere: number): number {
  const { year: yearThere } = civilDate(dayThere)
  const length = monthLength(monthIndex(year, month))
  const isLast = day > monthLength(monthIndex(yearThere, month)) - 7
  const first = dayNumber(year, month, isLast ? length - 6 : day - ((day - 1) % 7))
  return first + modulo(dayThere - first, 7)
}
