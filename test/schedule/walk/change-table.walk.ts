import { describe, expect, it } from 'vitest'
import { changeTableFaults } from './change-table.js'

describe('ChangeTable finds the clock changes of every zone', () => {
  it.each(Intl.supportedValuesOf('timeZone'))('finds the same changes of %s as a full search', (zone) => {
    expect(changeTableFaults(zone)).toEqual([])
    // A table that is first asked for a later year knows nothing of the years before.
    for (let year = 1901; year < 2128; year += 7) {
      expect(changeTableFaults(zone, { asked: 0 }, year), `from ${year}`).toEqual([])
    }
  })
})
