import { ChangeTable } from '../../../src/schedule/zone/change-table.js'
import { IntlOffsets } from '../../../src/schedule/zone/intl-offsets.js'
import { findSegments } from '../../../src/schedule/zone/segment.js'

const FIRST_YEAR = 1800
const LAST_YEAR = 2127
const FIRST_RULE_YEAR = 2088

const yearStart = (year: number) => Date.UTC(year, 0, 1) / 1000

/**
 * Compares the change table of a zone, queried in order from a year on, with a search through every six days.
 * Returns the differences.
 */
export function changeTableFaults(
  zone: string,
  questions: { asked: number } = { asked: 0 },
  firstYear = FIRST_YEAR,
): string[] {
  const searched = searchedChanges(zone)
    .filter(({ at }) => at >= yearStart(firstYear))
    .map(({ text }) => text)
  const table = new ChangeTable(new CountedOffsets(zone, questions), FIRST_RULE_YEAR)
  const found: string[] = []
  for (let year = firstYear; year <= LAST_YEAR; year++) {
    for (const { at, before, after } of table.changesIn(year)) found.push(shown(at, before, after))
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

  override atWithGuess(second: number, likely: number): number {
    this.#questions.asked++
    return super.atWithGuess(second, likely)
  }

  override hasOffset(second: number, offset: number): boolean {
    this.#questions.asked++
    return super.hasOffset(second, offset)
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
