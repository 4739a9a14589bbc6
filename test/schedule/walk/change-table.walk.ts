import { describe, expect, it } from 'vitest'
import { changeTableFaults } from './change-table.js'

describe('the changes of every zone', () => {
  it.each(Intl.supportedValuesOf('timeZone'))('%s: found from year to year as by a search', (zone) => {
    expect(changeTableFaults(zone)).toEqual([])
  })
})
