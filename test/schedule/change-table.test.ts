import { describe, expect, it } from 'vitest'
import { changeTableFaults } from './walk/change-table.js'

const YEARS = 328

/** Zones whose years are least like each other: the moon, the date line, wars, a summer of a week. */
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

describe('the changes of a zone, found from year to year', () => {
  it.each(zones)('%s: are those that a search through every six days finds', (zone) => {
    const questions = { asked: 0 }
    expect(changeTableFaults(zone, questions)).toEqual([])
    // The search asks more than sixty times a year.
    expect(questions.asked).toBeLessThan(9 * YEARS)
  })

  it.each(zones.slice(0, 4))('%s: are the same whatever year is asked about first', (zone) => {
    for (let year = 1990; year < 2100; year++) {
      expect(changeTableFaults(zone, { asked: 0 }, year), `from ${year}`).toEqual([])
    }
  })
})
