import { describe, expect, it } from 'vitest'
import { changeTableFaults } from './walk/change-table.js'

const YEARS = 328

/** Zones whose years differ most: lunar rules, the date line, wars, a summer time of one week. */
const zones = [
  'Africa/Casablanca',
  'Asia/Gaza',
  'Africa/Cairo',
  'America/Noronha',
  'America/Argentina/Tucuman',
  'Pacific/Apia',
  'Pacific/Kwajalein',
  'Antarctica/Troll',
  'America/Scoresbysund',
  'Europe/Amsterdam',
  'Europe/Moscow',
  'Africa/Tunis',
  'Asia/Tokyo',
]

describe('ChangeTable', () => {
  it.each(zones)('finds the same changes of %s as a search through every six days', (zone) => {
    const questions = { asked: 0 }
    expect(changeTableFaults(zone, questions)).toEqual([])
    // The full search takes more than sixty probes per year.
    expect(questions.asked).toBeLessThan(9 * YEARS)
  })

  it.each(zones.slice(0, 4))('finds the same changes of %s whichever year comes first', (zone) => {
    for (let year = 1990; year < 2100; year++) {
      expect(changeTableFaults(zone, { asked: 0 }, year), `from ${year}`).toEqual([])
    }
  })
})
