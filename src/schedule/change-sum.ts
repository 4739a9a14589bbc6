import { DAY_S, dayNumber, yearOf } from './calendar.js'
import type { Change } from './change-table.js'
import { LongCount } from './long-count.js'
import type { Zone } from './zone.js'

/**
 * Adds up, over the changes of a zone's clocks between two instants, what each counts for. Years in which the zone
 * keeps a yearly rule are not looked at one by one when what is added up is periodic too.
 */
export class ChangeSum {
  readonly #zone: Zone
  readonly #yearPeriod: number
  readonly #worth: (change: Change) => number
  readonly #long: LongCount

  /** `yearPeriod` says after how many years like years count for the same, 0 when they never do; see `Pattern`. */
  constructor(zone: Zone, yearPeriod: number, worth: (change: Change) => number) {
    this.#zone = zone
    this.#yearPeriod = yearPeriod
    this.#worth = worth
    this.#long = new LongCount(
      (from, untilExclusive) => this.#sum(from * DAY_S - 1, untilExclusive * DAY_S - 1),
      Math.max(yearPeriod, 1),
    )
  }

  /** The sum over the changes after one epoch second and up to another. */
  between(after: number, until: number): number {
    const firstDay = Math.max(Math.ceil((after + 1) / DAY_S), dayNumber(this.#zone.yearlyFrom, 1, 1))
    const lastDay = Math.floor((until + 1) / DAY_S)
    if (this.#yearPeriod === 0 || lastDay <= firstDay) return this.#sum(after, until)
    return (
      this.#sum(after, firstDay * DAY_S - 1) +
      this.#long.count(firstDay, lastDay, Infinity) +
      this.#sum(lastDay * DAY_S - 1, until)
    )
  }

  #sum(after: number, until: number): number {
    let sum = 0
    const lastYear = yearOf(Math.floor(until / DAY_S))
    for (let year = yearOf(Math.floor((after + 1) / DAY_S)); year <= lastYear; year++) {
      for (const change of this.#zone.changesIn(year)) {
        if (change.at > after && change.at <= until) sum += this.#worth(change)
      }
    }
    return sum
  }
}
