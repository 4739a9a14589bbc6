import { describe, expect, it } from 'vitest'
import { localMinutes } from './local-minutes.js'
import { differenceFrom, walkMinutes } from './minute-walk.js'
import { walkedSchedules } from './schedules.js'
import { walkedZones } from './zones.js'

describe('Fifty schedules match a minute-by-minute walk through ten years', () => {
  it.each(walkedZones)('in %s from the year %i on', (zone, firstYear) => {
    const minutes = localMinutes(zone, firstYear)
    const differences = walkedSchedules.map((schedule) =>
      differenceFrom(walkMinutes(minutes, schedule), minutes, schedule),
    )
    expect(differences.filter((difference) => difference !== undefined)).toEqual([])
  })
})
