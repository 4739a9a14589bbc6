import { describe, expect, it } from 'vitest'
import { localMinutes } from './local-minutes.js'
import { differenceFrom, walkMinutes } from './minute-walk.js'
import { walkedSchedules } from './schedules.js'
import { walkedZones } from './zones.js'

describe('ten years of fifty schedules in thirty zones, minute by minute', () => {
  it.each(walkedZones)('%s from %i on', (zone, firstYear) => {
    const minutes = localMinutes(zone, firstYear)
    const differences = walkedSchedules.map((schedule) =>
      differenceFrom(walkMinutes(minutes, schedule), minutes, schedule),
    )
    expect(differences.filter((difference) => difference !== undefined)).toEqual([])
  })
})
