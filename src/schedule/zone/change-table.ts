import { civilDate, DAY_S, dayNumber, isLeapYear, modulo, weekdayOf } from '../calendar/calendar.js'
import { ChangeFinder } from './change-finder.js'
import { ChangeRule } from './change-rule.js'
import {
  daysToCheck,
  daysToSearch,
  EARLY_YEARS,
  EVERY_FOUR_WEEKS,
  FIRST_SUMMER_TIME,
  FIRST_FUTURE_YEAR,
} from './probe-days.js'
import { ramadansIn } from './ramadan.js'
import type { IntlOffsets } from './intl-offsets.js'
import { formatClock } from './wall-text.js'

/** A clock change: the first second of the new offset, and the offsets before and after it. */
export interface ClockChange {
  readonly at: number
  readonly before: number
  readonly after: number
}

/** The changes of one year, and the rule of each. */
interface ChangeYear {
  readonly changes: readonly ClockChange[]
  readonly rules: readonly ChangeRule[]
  /** The offset at the end of the year. */
  readonly offset: number
}

// A rule that follows the lunar calendar moves a change by two weeks at most. A weekday rule moves it by six
// days at most.
const EARLIER_DAYS = 17
const LATER_DAYS = 8
const MOVED_BY_WEEKDAY_DAYS = 6

const WEEK_S = 7 * DAY_S

// The lunar year is about 11 days shorter than ours. So a change that follows it mostly comes again after 50
// or 51 weeks.
const MOON_YEARS_S = [51 * WEEK_S, 50 * WEEK_S]

// Where Ramadan interrupts summer time, as little as a week of summer time may follow it. To find that week,
// probe every six days for two months.
const CLOSE_S = 6 * DAY_S
const MOON_S = 60 * DAY_S

// That last week ends when summer time usually ends. The usual end counts as known after a rule has held for
// this many years.
const STEADY_YEARS = 5

// ICU and the tz database list each year up to 2037. Later years that they list follow the lunar calendar.
const FIRST_UNLISTED_YEAR = 2038
const RULE_CHECKS = [2038, 2039, 2045, 2052, 2059, 2066, 2073, 2080, 2087]
const RULE_CHECK_DAYS = [80, 160, 240, 320]

/**
 * The clock changes of a zone, year by year. Most years change clocks like the year before. So a year is
 * predicted from the previous one, and two probes per change and a few between them confirm it. Where that
 * fails, the whole year is searched.
 *
 * Proven by test/schedule/change-table.test.ts and test/schedule/made-up-zone.test.ts. `npm run walk`
 * compares every zone that Node knows with a full search.
 */
export class ChangeTable {
  readonly #offsets: IntlOffsets
  readonly #years = new Map<number, ChangeYear>()
  readonly #yearlyFrom: number
  readonly #finder: ChangeFinder
  /** For each kind of year, one year in which the final yearly rule alone holds. */
  readonly #yearByKind: (number | undefined)[] = []
  /** For each pair of offsets, the latest rule that held for `STEADY_YEARS` years. */
  readonly #steadyRules = new Map<number, ChangeRule>()
  #ruleInForce: boolean | undefined

  /** From the year `yearlyFrom` on, only the yearly rule changes clocks. */
  constructor(offsets: IntlOffsets, yearlyFrom: number) {
    this.#offsets = offsets
    this.#finder = new ChangeFinder((second, offset) => offsets.hasOffset(second, offset))
    this.#yearlyFrom = yearlyFrom
  }

  /** Returns the changes of a UTC year. */
  changesIn(year: number): readonly ClockChange[] {
    return this.#yearOf(year).changes
  }

  #yearOf(year: number): ChangeYear {
    let found = this.#years.get(year)
    if (found === undefined) {
      found = this.#find(year)
      this.#years.set(year, found)
    }
    return found
  }

  #find(year: number): ChangeYear {
    if (year < FIRST_SUMMER_TIME) return this.#findEarly(year)
    if (
      year > this.#yearlyFrom ||
      (year >= FIRST_UNLISTED_YEAR && year < this.#yearlyFrom && this.#isRuleInForce())
    ) {
      return this.#findBySameKind(year)
    }
    const previous = this.#years.get(year - 1)
    return (
      (previous && this.#findFromPreviousYear(year, previous, this.#daysToCheck(year, previous))) ??
      this.#search(year, previous)
    )
  }

  #daysToCheck(year: number, previous: ChangeYear): readonly number[] {
    if (year < FIRST_UNLISTED_YEAR || year >= this.#yearlyFrom)
      return daysToCheck(year, previous.changes.length > 0)
    return [...RULE_CHECK_DAYS, ...ramadansIn(year)].sort((a, b) => a - b)
  }

  /** Whether the final yearly rule already holds from 2038 on. A sample of years decides. */
  #isRuleInForce(): boolean {
    return (this.#ruleInForce ??= RULE_CHECKS.every((year) => {
      const { offset } = this.#yearOf(this.#yearlyFrom)
      const found = this.#findByRule(year)
      return (
        found !== undefined &&
        this.#matchesOnDays(year, RULE_CHECK_DAYS, found.changes, offset) &&
        this.#endsWith(year, offset)
      )
    }))
  }

  /** Returns the changes of a year under the yearly rule. Years of the same kind have the same changes. */
  #findBySameKind(year: number): ChangeYear {
    const yearStart = dayNumber(year, 1, 1)
    const kind = weekdayOf(yearStart) * 2 + (isLeapYear(year) ? 1 : 0)
    const known = (this.#yearByKind[kind] ??= year)
    if (known === year) return this.#findByRule(year) ?? this.#search(year)
    const sameKind = this.#yearOf(known)
    const shift = (yearStart - dayNumber(known, 1, 1)) * DAY_S
    return {
      ...sameKind,
      changes: sameKind.changes.map(({ at, before, after }) => ({ at: at + shift, before, after })),
    }
  }

  #findByRule(year: number): ChangeYear | undefined {
    const ruleYear = this.#yearOf(this.#yearlyFrom)
    const changes: ClockChange[] = []
    for (const rule of ruleYear.rules) {
      const at = this.#findByRuleOrWeekOff(rule, year)
      if (at === undefined) return undefined
      changes.push({ at, before: rule.before, after: rule.after })
    }
    return { ...ruleYear, changes }
  }

  /**
   * Before summer time was invented, zones kept their offset for years. So one comparison covers several
   * years.
   */
  #findEarly(year: number): ChangeYear {
    const first = year - modulo(year, EARLY_YEARS)
    const last = Math.min(first + EARLY_YEARS, FIRST_SUMMER_TIME) - 1
    const offset = this.#offsetAtEndOf(first - 1)
    const isQuiet = this.#endsWith(last, offset)
    for (let early = first; early <= last; early++) {
      this.#years.set(early, isQuiet ? { changes: [], rules: [], offset } : this.#findEarlyYear(early))
    }
    return this.#years.get(year)!
  }

  #findEarlyYear(year: number): ChangeYear {
    const before = this.#offsetAtEndOf(year - 1)
    if (this.#endsWith(year, before)) return { changes: [], rules: [], offset: before }
    const after = this.#offsetAtEndOf(year)
    const at = this.#finderOf(before, after).find(endOfYear(year - 1), endOfYear(year), before)
    return { changes: [{ at, before, after }], rules: [], offset: after }
  }

  /**
   * Clocks show the same time before and after a zone crosses the date line. There the finder must compare
   * offsets, not clock times.
   */
  #finderOf(before: number, after: number): ChangeFinder {
    if ((after - before) % DAY_S !== 0) return this.#finder
    return new ChangeFinder((second, offset) => this.#offsets.at(second) === offset)
  }

  #search(year: number, previous?: ChangeYear): ChangeYear {
    const found = this.#searchBy(
      (second, offset) => this.#offsets.atWithGuess(second, offset),
      year,
      previous,
    )
    if (this.#endsWith(year, found.offset)) return found
    return this.#searchBy((second) => this.#offsets.at(second), year, previous)
  }

  #searchBy(
    offsetAt: (second: number, likely: number) => number,
    year: number,
    previous: ChangeYear | undefined,
  ): ChangeYear {
    const changes: ClockChange[] = []
    const rules: ChangeRule[] = []
    let from = endOfYear(year - 1)
    let offset = this.#offsetAtEndOf(year - 1)
    for (const second of this.#secondsToSearch(year, previous)) {
      const nextOffset = offsetAt(second, offset)
      if (nextOffset !== offset) {
        const known = this.#rulesOf(offset, nextOffset, previous)
        const moons = moonGuesses(known, previous)
        const guesses = [...moons, ...known.map((rule) => rule.instantIn(year))]
        const change = {
          at: this.#finderOf(offset, nextOffset).find(from, second, offset, guesses),
          before: offset,
          after: nextOffset,
        }
        changes.push(change)
        rules.push(
          known.find((rule) => !rule.followsMoon && rule.instantIn(year) === change.at) ??
            new ChangeRule(change, moons.includes(change.at)),
        )
        offset = nextOffset
      }
      from = second
    }
    return { changes, rules, offset }
  }

  /**
   * Returns the known rules for a change between two offsets: those of the previous year, and the steady one.
   */
  #rulesOf(before: number, after: number, previous: ChangeYear | undefined): readonly ChangeRule[] {
    const rules = previous?.rules.filter((rule) => rule.before === before && rule.after === after) ?? []
    const steady = this.#steadyRules.get(pairOf(before, after))
    return steady === undefined || rules.includes(steady) ? rules : [...rules, steady]
  }

  /**
   * Returns when to probe a year of which nothing is known, in order. The last second of the year is
   * included.
   */
  #secondsToSearch(year: number, previous: ChangeYear | undefined): readonly number[] {
    const yearStart = dayNumber(year, 1, 1)
    const isSteady =
      year >= FIRST_UNLISTED_YEAR &&
      year < this.#yearlyFrom &&
      previous !== undefined &&
      this.#areSteady(previous.rules)
    const days = isSteady ? [...EVERY_FOUR_WEEKS, ...ramadansIn(year)] : daysToSearch(year, this.#yearlyFrom)
    const seconds = days.map((day) => (yearStart + day) * DAY_S - 1)
    const last = endOfYear(year)
    if (isSteady) {
      for (const rule of this.#steadyRules.values())
        seconds.push(rule.instantIn(year), ...lastSecondsBefore(rule, year))
      seconds.sort((a, b) => a - b)
    }
    return [...seconds.filter((second) => second < last), last]
  }

  /**
   * Whether summer time ends in a known way, or does not exist. Then no change can hide between two probes.
   */
  #areSteady(rules: readonly ChangeRule[]): boolean {
    return (
      rules.every((rule) => rule.followsMoon) ||
      rules.every(({ before, after }) => this.#steadyRules.has(pairOf(before, after)))
    )
  }

  /**
   * Predicts a year from the previous one and checks the prediction on some days. Returns undefined if the
   * prediction fails.
   */
  #findFromPreviousYear(year: number, previous: ChangeYear, days: readonly number[]): ChangeYear | undefined {
    const { rules, offset } = previous
    // The previous year must end with the offset it began with. Otherwise its changes cannot repeat.
    if (rules.length > 0 ? rules[0]!.before !== offset : previous.changes.length > 0) return undefined
    const changes: ClockChange[] = []
    const newRules: ChangeRule[] = []
    // Whether the latest change moved by more than a weekday rule explains.
    let hasMoved = false
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      const { before, after } = rule
      const previousAt = previous.changes[i]!.at
      const byMoon = rule.followsMoon ? this.#findByMoon(rule, year, previousAt) : undefined
      const byRule = byMoon === undefined ? this.#findByRuleOrWeekOff(rule, year) : undefined
      const at =
        byMoon ??
        byRule ??
        (year < FIRST_FUTURE_YEAR ? undefined : this.#findNearDate(rule, year, previousAt))
      if (at === undefined || (i > 0 && at <= changes[i - 1]!.at)) return undefined
      hasMoved = isMoved(previousAt, at)
      changes.push({ at, before, after })
      newRules.push(
        byRule === undefined
          ? new ChangeRule({ at, before, after }, MOON_YEARS_S.includes(at - previousAt))
          : rule,
      )
      if (byRule !== undefined) rule.confirm(year, at)
      if (rule.confirmedYears >= STEADY_YEARS) this.#steadyRules.set(pairOf(before, after), rule)
    }
    const isAlike =
      this.#matchesOnDays(year, days, changes, offset) &&
      (!hasMoved ||
        newRules.every((rule) => rule.followsMoon) ||
        this.#matchesAfterLast(year, changes, offset)) &&
      this.#endsWith(year, offset)
    return isAlike ? { changes, rules: newRules, offset } : undefined
  }

  /** Whether the clocks agree with a year's changes on some days of the year. */
  #matchesOnDays(
    year: number,
    days: readonly number[],
    changes: readonly ClockChange[],
    offset: number,
  ): boolean {
    const yearStart = dayNumber(year, 1, 1)
    let current = offset
    let next = 0
    for (const day of days) {
      const second = (yearStart + day) * DAY_S - 1
      while (next < changes.length && changes[next]!.at <= second) current = changes[next++]!.after
      if (!this.#offsets.hasOffset(second, current)) return false
    }
    return true
  }

  /**
   * The same check after the last change, where a short rest of summer time may follow Ramadan. If the usual
   * end of summer time is known, three probes suffice. Otherwise it probes every six days.
   */
  #matchesAfterLast(year: number, changes: readonly ClockChange[], offset: number): boolean {
    const { at, before, after } = changes.at(-1)!
    const steady = this.#steadyRules.get(pairOf(before, after))
    if (steady !== undefined) {
      return lastSecondsBefore(steady, year).every(
        (second) => second <= at || second > endOfYear(year) || this.#offsets.hasOffset(second, offset),
      )
    }
    const yearStart = dayNumber(year, 1, 1)
    const until = Math.min(at + MOON_S, endOfYear(year))
    const days: number[] = []
    for (let second = at + CLOSE_S; second < until; second += CLOSE_S) {
      days.push(Math.floor(second / DAY_S) - yearStart)
    }
    return this.#matchesOnDays(year, days, changes, offset)
  }

  /** Returns the change of a year if it comes as its rule predicts, or a week off. */
  #findByRuleOrWeekOff(rule: ChangeRule, year: number): number | undefined {
    const at = rule.instantIn(year)
    const isBefore = this.#offsets.shows(at - 1, rule.textBefore)
    if (isBefore && this.#offsets.shows(at, rule.textAfter)) return at
    const weekOff = isBefore ? at + WEEK_S : at - WEEK_S
    return this.#isAt(rule, weekOff) ? withinYear(weekOff, year) : undefined
  }

  #isAt({ textBefore, textAfter }: ChangeRule, at: number): boolean {
    return this.#offsets.shows(at - 1, textBefore) && this.#offsets.shows(at, textAfter)
  }

  /** Returns the change of a year if it comes 50 or 51 weeks after that of the previous year. */
  #findByMoon(rule: ChangeRule, year: number, previousAt: number): number | undefined {
    for (const moonYear of MOON_YEARS_S) {
      if (this.#isAt(rule, previousAt + moonYear)) return withinYear(previousAt + moonYear, year)
    }
    return undefined
  }

  /**
   * Searches near the date of the previous year's change. This finds a change without a rule, or one that
   * follows the moon for the first time.
   */
  #findNearDate(rule: ChangeRule, year: number, previousAt: number): number | undefined {
    const byMoon = rule.followsMoon ? undefined : this.#findByMoon(rule, year, previousAt)
    if (byMoon !== undefined) return byMoon
    const { month, day } = civilDate(Math.floor(previousAt / DAY_S))
    const sameDate = dayNumber(year, month, Math.min(day, 28))
    let low = sameDate - EARLIER_DAYS
    let high = sameDate + LATER_DAYS
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#offsets.hasOffset(middle * DAY_S + rule.time, rule.before)) low = middle
      else high = middle
    }
    const at = high * DAY_S + rule.time
    return this.#isAt(rule, at) ? withinYear(at, year) : undefined
  }

  /**
   * Whether the year ends with this offset. The day of the month tells apart offsets that differ by a whole
   * day.
   */
  #endsWith(year: number, offset: number): boolean {
    return this.#offsets.showsOn(endOfYear(year), offset > 0 ? 1 : 31, formatClock(modulo(offset - 1, DAY_S)))
  }

  #offsetAtEndOf(year: number): number {
    return this.#years.get(year)?.offset ?? this.#offsets.at(endOfYear(year))
  }
}

/** Packs two offsets into one map key. */
function pairOf(before: number, after: number): number {
  return before * 1_000_000 + after
}

/** Guesses where changes of the previous year come again if they follow the lunar calendar. */
function moonGuesses(rules: readonly ChangeRule[], previous: ChangeYear | undefined): readonly number[] {
  return rules.flatMap((rule) => {
    const change = rule.followsMoon ? previous?.changes[previous.rules.indexOf(rule)] : undefined
    return change === undefined ? [] : MOON_YEARS_S.map((moonYear) => change.at + moonYear)
  })
}

/**
 * Returns the last second before the predicted change, and those a week earlier and a week later. A week of
 * summer time that ends by this rule covers one of them.
 */
function lastSecondsBefore(rule: ChangeRule, year: number): readonly number[] {
  const last = rule.instantIn(year) - 1
  return [last - WEEK_S, last, last + WEEK_S]
}

function withinYear(at: number, year: number): number | undefined {
  return at > endOfYear(year - 1) && at <= endOfYear(year) ? at : undefined
}

/** Whether a change moved within the year by more than a weekday rule explains. */
function isMoved(previousAt: number, at: number): boolean {
  const days = modulo(Math.round((at - previousAt) / DAY_S), 365)
  return Math.min(days, 365 - days) > MOVED_BY_WEEKDAY_DAYS
}

/** Returns the last second of a year. A change at the first second of a year belongs to that year. */
function endOfYear(year: number): number {
  return dayNumber(year + 1, 1, 1) * DAY_S - 1
}
