import { ChangeTable } from '../../../src/schedule/change-table.js'
import { findSegments, IntlOffsets } from '../../../src/schedule/segment.js'

const FIRST_YEAR = 1800
const LAST_YEAR = 2127
const YEARLY_FROM = 2088

const yearStart = (year: number) => Date.UTC(year, 0, 1) / 1000

/**
 * Where the table of a zone, asked in order from a year on, differs from a search through every six days; empty when it
 * does not.
 */
export function changeTableFaults(
  zone: string,
  questions: { asked: number } = { asked: 0 },
  firstYear = FIRST_YEAR,
): string[] {
  const searched = searchedChanges(zone)
    .filter(({ at }) => at >= yearStart(firstYear))
    .map(({ text }) => text)
  const table = new ChangeTable(new CountedOffsets(zone, questions), YEARLY_FROM)
  const found: string[] = []
  for (let year = firstYear; year <= LAST_YEAR; year++) {
    for (const { at, before, after } of table.in(year)) found.push(shown(at, before, after))
  }
  return [
    ...searched.filter((change) => !found.includes(change)).map((change) => `missed ${change}`),
    ...found.filter((change) => !searched.includes(change)).map((change) => `made up ${change}`),
    ...(found.join() === searched.join() ? [] : ['not in order']),
  ]
}

interface Searched {
  readonly at: number
  readonly text: string
}

const searchedBefore = new Map<string, readonly Searched[]>()

function searchedChanges(zone: string): readonly Searched[] {
  let searched = searchedBefore.get(zone)
  if (searched === undefined) {
    searched = findSegments(offsetProbe(zone), yearStart(FIRST_YEAR), yearStart(LAST_YEAR + 1))
      .filter((segment) => segment.offset !== segment.offsetBefore)
      .map(({ start, offset, offsetBefore }) => ({ at: start, text: shown(start, offsetBefore, offset) }))
    searchedBefore.set(zone, searched)
  }
  return searched
}

class CountedOffsets extends IntlOffsets {
  readonly #questions: { asked: number }

  constructor(zone: string, questions: { asked: number }) {
    super(zone)
    this.#questions = questions
  }

  override at(second: number): number {
    this.#questions.asked++
    return super.at(second)
  }

  override atLikely(second: number, likely: number): number {
    this.#questions.asked++
    return super.atLikely(second, likely)
  }

  override keeps(second: number, offset: number): boolean {
    this.#questions.asked++
    return super.keeps(second, offset)
  }

  override shows(second: number, time: string): boolean {
    this.#questions.asked++
    return super.shows(second, time)
  }

  override showsOn(second: number, day: number, time: string): boolean {
    this.#questions.asked++
    return super.showsOn(second, day, time)
  }
}

function offsetProbe(zone: string): (second: number) => number {
  const offsets = new IntlOffsets(zone)
  return (second) => offsets.at(second)
}

function shown(at: number, before: number, after: number): string {
  return `${new Date(at * 1000).toISOString()} ${before} ${after}`
}
