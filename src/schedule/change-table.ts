import { civilDate, DAY_S, dayNumber, isLeapYear, modulo, weekdayOf } from './calendar.js'
import { ChangeFinder } from './change-finder.js'
import { ChangeRule } from './change-rule.js'
import {
  daysToLookAt,
  daysToSearch,
  EARLY_YEARS,
  EVERY_FOUR_WEEKS,
  FIRST_SUMMER_TIME,
  FIRST_TO_COME,
} from './change-years.js'
import { ramadansIn } from './ramadan.js'
import type { IntlOffsets } from './segment.js'
import { formatClock } from './wall-text.js'

/** A change of clocks: the first second of the new offset, and the offsets before and after it. */
export interface Change {
  readonly at: number
  readonly before: number
  readonly after: number
}

/** The changes of a year, and the rules by which they come. */
interface ChangeYear {
  readonly changes: readonly Change[]
  readonly rules: readonly ChangeRule[]
  /** The offset at the end of the year. */
  readonly offset: number
}

// Rules that follow the moon move a change by a fortnight at the most; those for weekdays, by six days.
const EARLIER_DAYS = 17
const LATER_DAYS = 8
const MOVED_BY_WEEKDAY_DAYS = 6

const WEEK_S = 7 * DAY_S

// What follows the moon comes again after 50 or 51 weeks, mostly.
const MOON_YEARS_S = [51 * WEEK_S, 50 * WEEK_S]

// When it ends a summer, a week of that summer may come after it: that is looked for closely.
const CLOSE_S = 6 * DAY_S
const MOON_S = 60 * DAY_S

// Such a week ends when summers end that the moon does not, if they always ended by one rule.
const STEADY_YEARS = 5

// ICU and the tz database write out single years up to 2037; what they write out later follows the moon.
const FIRST_BY_RULE = 2038
const RULE_CHECKS = [2038, 2039, 2045, 2052, 2059, 2066, 2073, 2080, 2087]
const RULE_CHECK_DAYS = [80, 160, 240, 320]

/**
 * The changes of a zone's clocks, a year at a time and in order. A year is found from the one before it: its
 * changes are mostly the same, so that two questions for each and some between them suffice; where that fails the
 * year is searched through. `npm run walk` holds every zone that Node knows against the thorough search.
 */
export class ChangeTable {
  readonly #offsets: IntlOffsets
  readonly #years = new Map<number, ChangeYear>()
  readonly #yearlyFrom: number
  readonly #finder: ChangeFinder
  /** A year of each kind in which there is the rule of later years and nothing else. */
  readonly #byKind: (number | undefined)[] = []
  /** The last rule that was kept for some years, for every two offsets. */
  readonly #steady = new Map<number, ChangeRule>()
  #followsRule: boolean | undefined

  /** From the year `yearlyFrom` on there is a yearly rule and nothing else. */
  constructor(offsets: IntlOffsets, yearlyFrom: number) {
    this.#offsets = offsets
    this.#finder = new ChangeFinder((second, offset) => offsets.keeps(second, offset))
    this.#yearlyFrom = yearlyFrom
  }

  /** The changes of a year of UTC. */
  in(year: number): readonly Change[] {
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
    if (year > this.#yearlyFrom || (year >= FIRST_BY_RULE && year < this.#yearlyFrom && this.#isByRule())) {
      return this.#findOfKind(year)
    }
    const like = this.#years.get(year - 1)
    return (like && this.#findLike(year, like, this.#daysToLookAt(year, like))) ?? this.#search(year, like)
  }

  #daysToLookAt(year: number, like: ChangeYear): readonly number[] {
    if (year < FIRST_BY_RULE || year >= this.#yearlyFrom) return daysToLookAt(year, like.changes.length > 0)
    return [...RULE_CHECK_DAYS, ...ramadansIn(year)].sort((a, b) => a - b)
  }

  /** Whether the rule of later years holds already, as far as some years between tell. */
  #isByRule(): boolean {
    return (this.#followsRule ??= RULE_CHECKS.every((year) => {
      const { offset } = this.#yearOf(this.#yearlyFrom)
      const found = this.#findByRule(year)
      return (
        found !== undefined &&
        this.#areShown(year, RULE_CHECK_DAYS, found.changes, offset) &&
        this.#shows(year, offset)
      )
    }))
  }

  /** The changes of a year of the rule: years of one kind have the same. */
  #findOfKind(year: number): ChangeYear {
    const yearStart = dayNumber(year, 1, 1)
    const kind = weekdayOf(yearStart) * 2 + (isLeapYear(year) ? 1 : 0)
    const known = (this.#byKind[kind] ??= year)
    if (known === year) return this.#findByRule(year) ?? this.#search(year)
    const like = this.#yearOf(known)
    const shift = (yearStart - dayNumber(known, 1, 1)) * DAY_S
    return {
      ...like,
      changes: like.changes.map(({ at, before, after }) => ({ at: at + shift, before, after })),
    }
  }

  #findByRule(year: number): ChangeYear | undefined {
    const like = this.#yearOf(this.#yearlyFrom)
    const changes: Change[] = []
    for (const rule of like.rules) {
      const at = this.#place(rule, year)
      if (at === undefined) return undefined
      changes.push({ at, before: rule.before, after: rule.after })
    }
    return { ...like, changes }
  }

  /** In early years clocks are compared over several at once. */
  #findEarly(year: number): ChangeYear {
    const first = year - modulo(year, EARLY_YEARS)
    const last = Math.min(first + EARLY_YEARS, FIRST_SUMMER_TIME) - 1
    const offset = this.#endOf(first - 1)
    const isQuiet = this.#shows(last, offset)
    for (let early = first; early <= last; early++) {
      this.#years.set(early, isQuiet ? { changes: [], rules: [], offset } : this.#findOne(early))
    }
    return this.#years.get(year)!
  }

  #findOne(year: number): ChangeYear {
    const before = this.#endOf(year - 1)
    if (this.#shows(year, before)) return { changes: [], rules: [], offset: before }
    const after = this.#endOf(year)
    const at = this.#finderOf(before, after).find(endOfYear(year - 1), endOfYear(year), before)
    return { changes: [{ at, before, after }], rules: [], offset: after }
  }

  /** Clocks look the same before and after a zone crosses the date line: there they are read. */
  #finderOf(before: number, after: number): ChangeFinder {
    if ((after - before) % DAY_S !== 0) return this.#finder
    return new ChangeFinder((second, offset) => this.#offsets.at(second) === offset)
  }

  #search(year: number, like?: ChangeYear): ChangeYear {
    const found = this.#searchBy((second, offset) => this.#offsets.atLikely(second, offset), year, like)
    if (this.#shows(year, found.offset)) return found
    return this.#searchBy((second) => this.#offsets.at(second), year, like)
  }

  #searchBy(
    offsetAt: (second: number, likely: number) => number,
    year: number,
    like: ChangeYear | undefined,
  ): ChangeYear {
    const changes: Change[] = []
    const rules: ChangeRule[] = []
    let from = endOfYear(year - 1)
    let offset = this.#endOf(year - 1)
    for (const second of this.#secondsToSearch(year, like)) {
      const there = offsetAt(second, offset)
      if (there !== offset) {
        const known = this.#rulesOf(offset, there, like)
        const moons = moonPlaces(known, like)
        const guesses = [...moons, ...known.map((rule) => rule.in(year))]
        const change = {
          at: this.#finderOf(offset, there).find(from, second, offset, guesses),
          before: offset,
          after: there,
        }
        changes.push(change)
        rules.push(
          known.find((rule) => !rule.isByMoon && rule.in(year) === change.at) ??
            new ChangeRule(change, moons.includes(change.at)),
        )
        offset = there
      }
      from = second
    }
    return { changes, rules, offset }
  }

  /** What is known about changes from an offset to another: the rules of the year before, and a steady one. */
  #rulesOf(before: number, after: number, like: ChangeYear | undefined): readonly ChangeRule[] {
    const rules = like?.rules.filter((rule) => rule.before === before && rule.after === after) ?? []
    const steady = this.#steady.get(pairOf(before, after))
    return steady === undefined || rules.includes(steady) ? rules : [...rules, steady]
  }

  /** When to look at clocks in a year of which nothing is known, in order, the last second of it included. */
  #secondsToSearch(year: number, like: ChangeYear | undefined): readonly number[] {
    const yearStart = dayNumber(year, 1, 1)
    const isSteady =
      year >= FIRST_BY_RULE && year < this.#yearlyFrom && like !== undefined && this.#isSteady(like.rules)
    const days = isSteady ? [...EVERY_FOUR_WEEKS, ...ramadansIn(year)] : daysToSearch(year, this.#yearlyFrom)
    const seconds = days.map((day) => (yearStart + day) * DAY_S - 1)
    const last = endOfYear(year)
    if (isSteady) {
      for (const rule of this.#steady.values()) seconds.push(rule.in(year), ...endingsBy(rule, year))
      seconds.sort((a, b) => a - b)
    }
    return [...seconds.filter((second) => second < last), last]
  }

  /** Whether it is known how summers end, or there are none: then no change hides between others. */
  #isSteady(rules: readonly ChangeRule[]): boolean {
    return (
      rules.every((rule) => rule.isByMoon) ||
      rules.every(({ before, after }) => this.#steady.has(pairOf(before, after)))
    )
  }

  /** The changes of a year that runs like another, and shows it on some days of it; undefined when it does not. */
  #findLike(year: number, like: ChangeYear, days: readonly number[]): ChangeYear | undefined {
    const { rules, offset } = like
    // What that year ended with must be what it began with.
    if (rules.length > 0 ? rules[0]!.before !== offset : like.changes.length > 0) return undefined
    const changes: Change[] = []
    const newRules: ChangeRule[] = []
    // Whether the last change of the year has.
    let hasMoved = false
    for (let i = 0; i < rules.length; i++) {
      const rule = rules[i]!
      const { before, after } = rule
      const atThere = like.changes[i]!.at
      const byMoon = rule.isByMoon ? this.#byMoon(rule, year, atThere) : undefined
      const byRule = byMoon === undefined ? this.#place(rule, year) : undefined
      const at = byMoon ?? byRule ?? (year < FIRST_TO_COME ? undefined : this.#seek(rule, year, atThere))
      if (at === undefined || (i > 0 && at <= changes[i - 1]!.at)) return undefined
      hasMoved = isMoved(atThere, at)
      changes.push({ at, before, after })
      newRules.push(
        byRule === undefined
          ? new ChangeRule({ at, before, after }, MOON_YEARS_S.includes(at - atThere))
          : rule,
      )
      if (byRule !== undefined) rule.keep(year, at)
      if (rule.kept >= STEADY_YEARS) this.#steady.set(pairOf(before, after), rule)
    }
    const isAlike =
      this.#areShown(year, days, changes, offset) &&
      (!hasMoved || newRules.every((rule) => rule.isByMoon) || this.#isShownAfter(year, changes, offset)) &&
      this.#shows(year, offset)
    return isAlike ? { changes, rules: newRules, offset } : undefined
  }

  /** Whether clocks show on some days of a year what its changes make of them. */
  #areShown(year: number, days: readonly number[], changes: readonly Change[], offset: number): boolean {
    const yearStart = dayNumber(year, 1, 1)
    let current = offset
    let next = 0
    for (const day of days) {
      const second = (yearStart + day) * DAY_S - 1
      while (next < changes.length && changes[next]!.at <= second) current = changes[next++]!.after
      if (!this.#offsets.keeps(second, current)) return false
    }
    return true
  }

  /** The same after the last change: where such a summer ends by rule or, if that is not known, every six days. */
  #isShownAfter(year: number, changes: readonly Change[], offset: number): boolean {
    const { at, before, after } = changes.at(-1)!
    const steady = this.#steady.get(pairOf(before, after))
    if (steady !== undefined) {
      return endingsBy(steady, year).every(
        (second) => second <= at || second > endOfYear(year) || this.#offsets.keeps(second, offset),
      )
    }
    const yearStart = dayNumber(year, 1, 1)
    const until = Math.min(at + MOON_S, endOfYear(year))
    const days: number[] = []
    for (let second = at + CLOSE_S; second < until; second += CLOSE_S) {
      days.push(Math.floor(second / DAY_S) - yearStart)
    }
    return this.#areShown(year, days, changes, offset)
  }

  /** Where a change comes in a year if it keeps to its rule, or comes a week off. */
  #place(rule: ChangeRule, year: number): number | undefined {
    const at = rule.in(year)
    const isBefore = this.#offsets.shows(at - 1, rule.textBefore)
    if (isBefore && this.#offsets.shows(at, rule.textAfter)) return at
    const weekOff = isBefore ? at + WEEK_S : at - WEEK_S
    return this.#comesAt(rule, weekOff) ? withinYear(weekOff, year) : undefined
  }

  #comesAt({ textBefore, textAfter }: ChangeRule, at: number): boolean {
    return this.#offsets.shows(at - 1, textBefore) && this.#offsets.shows(at, textAfter)
  }

  /** Where a change of the year before comes in this one if it follows the moon. */
  #byMoon(rule: ChangeRule, year: number, atThere: number): number | undefined {
    for (const moonYear of MOON_YEARS_S) {
      if (this.#comesAt(rule, atThere + moonYear)) return withinYear(atThere + moonYear, year)
    }
    return undefined
  }

  /** The same if it keeps to no rule, or does so for the first time. */
  #seek(rule: ChangeRule, year: number, atThere: number): number | undefined {
    const byMoon = rule.isByMoon ? undefined : this.#byMoon(rule, year, atThere)
    if (byMoon !== undefined) return byMoon
    const { month, day } = civilDate(Math.floor(atThere / DAY_S))
    const sameDate = dayNumber(year, month, Math.min(day, 28))
    let low = sameDate - EARLIER_DAYS
    let high = sameDate + LATER_DAYS
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#offsets.keeps(middle * DAY_S + rule.time, rule.before)) low = middle
      else high = middle
    }
    const at = high * DAY_S + rule.time
    return this.#comesAt(rule, at) ? withinYear(at, year) : undefined
  }

  /** Whether clocks show an offset at the end of a year. Days tell those apart that differ by a whole day. */
  #shows(year: number, offset: number): boolean {
    return this.#offsets.showsOn(endOfYear(year), offset > 0 ? 1 : 31, formatClock(modulo(offset - 1, DAY_S)))
  }

  #endOf(year: number): number {
    return this.#years.get(year)?.offset ?? this.#offsets.at(endOfYear(year))
  }
}

/** One number for two offsets. */
function pairOf(before: number, after: number): number {
  return before * 1_000_000 + after
}

/** Where changes of the year before come again if they follow the moon. */
function moonPlaces(rules: readonly ChangeRule[], like: ChangeYear | undefined): readonly number[] {
  return rules.flatMap((rule) => {
    const change = rule.isByMoon ? like?.changes[like.rules.indexOf(rule)] : undefined
    return change === undefined ? [] : MOON_YEARS_S.map((moonYear) => change.at + moonYear)
  })
}

/** The last seconds before a rule, a week before it and a week later: what ends by it for a week shows on one. */
function endingsBy(rule: ChangeRule, year: number): readonly number[] {
  const last = rule.in(year) - 1
  return [last - WEEK_S, last, last + WEEK_S]
}

function withinYear(at: number, year: number): number | undefined {
  return at > endOfYear(year - 1) && at <= endOfYear(year) ? at : undefined
}

/** Whether a change comes at another time of the year, by more than a rule for weekdays explains. */
function isMoved(atThere: number, at: number): boolean {
  const days = modulo(Math.round((at - atThere) / DAY_S), 365)
  return Math.min(days, 365 - days) > MOVED_BY_WEEKDAY_DAYS
}

/** The last second of a year: a change at the first second of a year belongs to it. */
function endOfYear(year: number): number {
  return dayNumber(year + 1, 1, 1) * DAY_S - 1
}
