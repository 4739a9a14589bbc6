import { describe, expect, it } from 'vitest'
import { localMinutes } from './walk/local-minutes.js'
import { differenceFrom, walkMinutes } from './walk/minute-walk.js'
import { walkedSchedules } from './walk/schedules.js'
import { walkedZones } from './walk/zones.js'

// A tenth of the fifty by thirty, so that every schedule and every zone has its turn; `npm run walk` does all.
const EVERY = 10

describe('ten years of fifty schedules in thirty zones, minute by minute (a tenth of the pairs)', () => {
  it('has fifty schedules and thirty zones', () => {
    expect(new Set(walkedSchedules.map(({ name }) => name)).size).toBe(50)
    expect(new Set(walkedZones.map(([zone]) => zone)).size).toBe(30)
  })

  it.each(walkedZones.map(([zone, firstYear], i) => [zone, firstYear, i] as const))(
    '%s from %i on',
    (zone, firstYear, i) => {
      const minutes = localMinutes(zone, firstYear)
      const differences = walkedSchedules
        .filter((_, j) => (i + j) % EVERY === 0)
        .map((schedule) => differenceFrom(walkMinutes(minutes, schedule), minutes, schedule))
      expect(differences.filter((difference) => difference !== undefined)).toEqual([])
    },
  )
})
