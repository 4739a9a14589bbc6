import { describe, expect, it } from 'vitest'
import { changeTableFaults } from './change-table.js'

describe('the changes of every zone', () => {
  it.each(Intl.supportedValuesOf('timeZone'))('%s: found from year to year as by a search', (zone) => {
    expect(changeTableFaults(zone)).toEqual([])
    // Who asks about our days first knows nothing of the years before.
    for (let year = 1901; year < 2128; year += 7) {
      expect(changeTableFaults(zone, { asked: 0 }, year), `from ${year}`).toEqual([])
    }
  })
})
