import { DAY_S, dayNumber, modulo, yearOf } from './calendar.js'
import type { Change } from './change-table.js'
import { LongCount } from './long-count.js'
import type { Grid, Pattern } from './pattern.js'
import { CYCLE_YEARS, kindsOfYears } from './year-kinds.js'
import type { Zone } from './zone.js'

/** A change of clocks that may matter, in seconds from the beginning of its year, and the local times it is about. */
interface Window extends Change {
  readonly low: number
  readonly high: number
}

const ANYWHERE: Grid = { base: 0, step: DAY_S, span: DAY_S }

/**
 * Adds up, over the changes of a zone's clocks between two instants, what each counts for with a pattern. Changes at
 * times of day that the pattern does not name are passed over, and years in which the zone keeps a yearly rule are
 * looked at by kind: a kind of year is counted once when the pattern is periodic too, and else only asked about.
 */
export class ChangeSum {
  readonly #zone: Zone
  readonly #pattern: Pattern
  readonly #worth: (change: Change) => number
  readonly #long: LongCount
  readonly #mayMatter = new Map<number, boolean>()
  readonly #windows: (readonly Window[] | undefined)[] = []

  constructor(zone: Zone, pattern: Pattern, worth: (change: Change) => number) {
    this.#zone = zone
    this.#pattern = pattern
    this.#worth = worth
    this.#long = new LongCount(
      (from, untilExclusive) => this.#sum(from * DAY_S - 1, untilExclusive * DAY_S - 1),
      Math.max(pattern.yearPeriod, 1),
    )
  }

  /** The sum over the changes after one epoch second and up to another. */
  between(after: number, until: number): number {
    const firstYear = Math.max(yearOf(Math.ceil((after + 1) / DAY_S) - 1) + 1, this.#zone.yearlyFrom)
    const lastYear = yearOf(Math.floor((until + 1) / DAY_S))
    if (lastYear <= firstYear) return this.#sum(after, until)
    const firstDay = dayNumber(firstYear, 1, 1)
    const lastDay = dayNumber(lastYear, 1, 1)
    return (
      this.#sum(after, firstDay * DAY_S - 1) +
      (this.#pattern.yearPeriod === 0
        ? this.#sumYears(firstYear, lastYear)
        : this.#long.count(firstDay, lastDay, Infinity)) +
      this.#sum(lastDay * DAY_S - 1, until)
    )
  }

  #sum(after: number, until: number): number {
    let sum = 0
    const lastYear = yearOf(Math.floor(until / DAY_S))
    for (let year = yearOf(Math.floor((after + 1) / DAY_S)); year <= lastYear; year++) {
      for (const change of this.#zone.changesIn(year)) {
        if (change.at > after && change.at <= until && this.#matters(change)) sum += this.#worth(change)
      }
    }
    return sum
  }

  /** The sum over whole years of the yearly rule. */
  #sumYears(firstYear: number, lastYear: number): number {
    const kinds = kindsOfYears(false)
    const windows = this.#windows
    const pattern = this.#pattern
    const { base, step, span } = pattern.grid ?? ANYWHERE
    let start = dayNumber(firstYear, 1, 1) * DAY_S
    let sum = 0
    // This loop runs for every year of millennia: there is nothing in it that need not be.
    for (let year = firstYear; year < lastYear; year++) {
      // Every kind was seen.
      if (year === firstYear + CYCLE_YEARS && windows.every((ofKind) => ofKind!.length === 0)) break
      const kind = kinds[year % CYCLE_YEARS]!
      for (const { low, high, at, before, after } of (windows[kind] ??= this.#windowsOf(year, start))) {
        const latest = base + (Math.ceil((start + high - base) / step) - 1) * step
        if (latest + span < start + low || !pattern.mayBeIn(start + low, start + high)) continue
        sum += this.#worth({ at: start + at, before, after })
      }
      start += (365 + (kind & 1)) * DAY_S
    }
    return sum
  }

  #windowsOf(year: number, start: number): readonly Window[] {
    const windows: Window[] = []
    for (const change of this.#zone.changesIn(year)) {
      if (!this.#matters(change)) continue
      const { at, before, after } = change
      const low = at + Math.min(before, after)
      const high = at + Math.max(before, after)
      // Mostly the kind of a year tells that its changes come on other days; at its ends it may not.
      const isWithin = low >= start + DAY_S && high < start + 364 * DAY_S
      if (isWithin && !this.#pattern.mayBeInKind(low, high)) continue
      windows.push({ at: at - start, before, after, low: low - start, high: high - start })
    }
    return windows
  }

  /** Whether the pattern has anything at the times of day that a change leaves out or brings twice. */
  #matters({ at, before, after }: Change): boolean {
    const low = modulo(at + Math.min(before, after), DAY_S)
    const length = Math.abs(after - before)
    const window = low * DAY_S + length
    let matters = this.#mayMatter.get(window)
    if (matters === undefined) {
      matters = this.#pattern.mayBeAt(low, low + length)
      this.#mayMatter.set(window, matters)
    }
    return matters
  }
}
