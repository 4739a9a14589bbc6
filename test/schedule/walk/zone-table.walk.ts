import { daily } from 'carillon/schedule'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, it } from 'vitest'

const FIRST = Date.UTC(1965, 0, 1)
const LAST = Date.UTC(2095, 0, 1)

describe('The clocks of every zone', () => {
  it.each(Intl.supportedValuesOf('timeZone'))('change in %s when Temporal says so', (zone) => {
    let moment: Temporal.ZonedDateTime | null =
      Temporal.Instant.fromEpochMilliseconds(FIRST).toZonedDateTimeISO(zone)
    const noon = daily({ zone, at: '12:00' })
    for (;;) {
      moment = moment.getTimeZoneTransition('next')
      if (moment === null || moment.epochMilliseconds > LAST) break
      // Check noon on the days around the change: a missed change shows as a wrong noon.
      for (const days of [-2, -1, 0, 1, 2]) {
        const expected = moment
          .toPlainDate()
          .add({ days })
          .toPlainDateTime('12:00')
          .toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds
        expect(noon.next(expected - 1)).toBe(expected)
      }
    }
  })
})
