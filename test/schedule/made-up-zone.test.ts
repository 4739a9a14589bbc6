import { describe, expect, it } from 'vitest'
import { ChangeTable } from '../../src/schedule/zone/change-table.js'
import { IntlOffsets } from '../../src/schedule/zone/intl-offsets.js'
import { formatClock } from '../../src/schedule/zone/wall-text.js'

const DAY = 86_400
const HOUR = 3600
const utc = (text: string) => Date.parse(`${text}Z`) / 1000

/** A decision that a government might make one day: pauses of summer time in Ramadan. */
const pauses = [
  ['2046-07-01T01:00', '2046-08-05T01:00'],
  ['2047-06-23T01:00', '2047-07-28T01:00'],
  ['2048-06-07T01:00', '2048-07-12T01:00'],
].map((pause) => pause.map(utc))

/** A year without summer time, so that not all years seem to follow one rule. */
const WITHOUT_SUMMER = 2039

/** The last Sunday of a month, at 01:00 UTC. */
function lastSunday(year: number, month: number): number {
  const last = Date.UTC(year, month, 0) / 1000
  return last - new Date(last * 1000).getUTCDay() * DAY + HOUR
}

function offsetAt(second: number): number {
  const year = new Date(second * 1000).getUTCFullYear()
  const isSummer = year !== WITHOUT_SUMMER && second >= lastSunday(year, 3) && second < lastSunday(year, 10)
  const isPaused = pauses.some(([from, until]) => second >= from! && second < until!)
  return isSummer && !isPaused ? 2 * HOUR : HOUR
}

class MadeUp extends IntlOffsets {
  override at(second: number): number {
    return offsetAt(second)
  }

  override atWithGuess(second: number): number {
    return offsetAt(second)
  }

  override hasOffset(second: number, offset: number): boolean {
    return offsetAt(second) === offset
  }

  override shows(second: number, time: string): boolean {
    return formatClock((second + offsetAt(second)) % DAY) === time
  }

  override showsOn(second: number, _day: number, time: string): boolean {
    return this.shows(second, time)
  }
}

describe('ChangeTable, for an invented zone that pauses summer time in Ramadan', () => {
  it.each([2000, 2030, 2038, 2045])('finds the pauses if it starts in the year %i', (firstYear) => {
    const table = new ChangeTable(new MadeUp('UTC'), 2088)
    const found: number[] = []
    for (let year = firstYear; year < 2088; year++) found.push(...table.changesIn(year).map(({ at }) => at))
    const real: number[] = pauses.flat()
    for (let year = firstYear; year < 2088; year++) {
      if (year !== WITHOUT_SUMMER) real.push(lastSunday(year, 3), lastSunday(year, 10))
    }
    expect(found).toEqual(real.sort((a, b) => a - b))
  })
})
