import { describe, expect, it } from 'vitest'
import { localMinutes } from './walk/local-minutes.js'
import { differenceFrom, walkMinutes } from './walk/minute-walk.js'
import { walkedSchedules } from './walk/schedules.js'
import { walkedZones } from './walk/zones.js'

// Every 25th pair of the fifty schedules and thirty zones, so that each occurs. `npm run walk` takes all
// pairs.
const EVERY = 25

describe('One pair in 25 of fifty schedules and thirty zones matches a minute-by-minute walk through ten years', () => {
  it('covers fifty schedules and thirty zones', () => {
    expect(new Set(walkedSchedules.map(({ name }) => name)).size).toBe(50)
    expect(new Set(walkedZones.map(([zone]) => zone)).size).toBe(30)
  })

  it.each(walkedZones.map(([zone, firstYear], i) => [zone, firstYear, i] as const))(
    'in %s from the year %i on',
    (zone, firstYear, i) => {
      const minutes = localMinutes(zone, firstYear)
      const differences = walkedSchedules
        .filter((_, j) => (i + j) % EVERY === 0)
        .map((schedule) => differenceFrom(walkMinutes(minutes, schedule), minutes, schedule))
      expect(differences.filter((difference) => difference !== undefined)).toEqual([])
    },
  )
})
