import { InvalidInputError } from 'carillon'
import { cron, daily, every, monthly, parseSchedule, rrule, weekly, yearly } from 'carillon/schedule'
import { describe, expect, it } from 'vitest'

const terms = '"missed":"once","missedLimit":100'
const wall = '"zone":"UTC","gap":"next","overlap":"first"'

describe('The stored form of a schedule', () => {
  // Stores and requests contain these texts. New ones may be added; existing ones must never change.
  it.each([
    [cron('0 9 * * 1-5'), `{"version":1,"type":"cron","expression":"0 9 * * 1-5",${wall},${terms}}`],
    [every('15m'), `{"version":1,"type":"every","everyMs":900000,"anchor":0,${terms}}`],
    [daily({ at: '09:00' }), `{"version":1,"type":"daily","at":["09:00"],${wall},${terms}}`],
    [
      weekly({ on: ['friday', 'monday'] }),
      `{"version":1,"type":"weekly","on":["monday","friday"],"at":["00:00"],${wall},${terms}}`,
    ],
    [
      monthly({ day: ['last', 1] }),
      `{"version":1,"type":"monthly","day":[1,"last"],"at":["00:00"],"invalidDate":"backward",${wall},${terms}}`,
    ],
    [
      yearly({ month: 2, day: 29 }),
      `{"version":1,"type":"yearly","month":2,"day":29,"at":["00:00"],"invalidDate":"backward",${wall},${terms}}`,
    ],
    [
      rrule('RRULE:FREQ=DAILY', { start: '2027-01-01' }),
      `{"version":1,"type":"rrule","rule":"FREQ=DAILY","start":"2027-01-01T00:00:00",${wall},${terms}}`,
    ],
    [
      every('1h', { from: 1, until: 2, times: 3, missed: 'all', missedLimit: 4, jitter: 5 }),
      '{"version":1,"type":"every","everyMs":3600000,"anchor":0,"from":1,"until":2,"times":3,' +
        '"missed":"all","missedLimit":4,"jitterMs":5}',
    ],
    [
      daily({ window: '1h', zone: 'Asia/Calcutta', gap: 'skip', overlap: 'both' }),
      '{"version":1,"type":"daily","at":["00:00"],"zone":"Asia/Calcutta","gap":"skip","overlap":"both",' +
        `${terms},"windowMs":3600000}`,
    ],
  ])('round trip %# keeps the exact text', (schedule, text) => {
    expect(JSON.stringify(schedule)).toBe(text)
    expect(JSON.stringify(parseSchedule(text))).toBe(text)
    expect(JSON.stringify({ on: schedule })).toBe(`{"on":${text}}`)
  })

  it('cannot be changed: a schedule is frozen', () => {
    const schedule = daily()
    expect(Object.isFrozen(schedule)).toBe(true)
    expect(parseSchedule(schedule.toJSON()).next(0)).toBe(schedule.next(0))
  })

  it.each([
    ['{', 'invalid-schedule', /not JSON/],
    ['null', 'invalid-schedule', /got null/],
    [[], 'invalid-schedule', /got an array/],
    [7, 'invalid-schedule', /got 7/],
    [{ type: 'daily' }, 'invalid-schedule', /version undefined/],
    [{ version: 2, type: 'daily' }, 'invalid-schedule', /version 2/],
    [{ version: 1, type: 'hourly' }, 'invalid-schedule', /unknown type "hourly": the types are cron, every/],
    [{ version: 1, type: '__proto__' }, 'invalid-schedule', /the types are/],
    [{ version: 1, type: 'toString' }, 'invalid-schedule', /the types are/],
    [{ version: 1, type: 'daily', at: ['25:00'] }, 'invalid-time', /25:00/],
    [{ version: 1, type: 'daily', colour: 'red' }, 'unknown-option', /colour/],
    [{ version: 1, type: 'every' }, 'invalid-duration', /undefined/],
    [{ version: 1, type: 'cron' }, 'invalid-cron', /undefined/],
    [{ version: 1, type: 'weekly' }, 'invalid-option', /undefined/],
    [{ version: 1, type: 'rrule', rule: 7 }, 'invalid-rrule', /got 7/],
    [{ version: 1, type: 'daily', zone: 'Nowhere' }, 'invalid-zone', /Nowhere/],
    [`{"version":1,"type":"daily","at":"${'9'.repeat(20_000)}"}`, 'invalid-schedule', /characters/],
  ])('refuses to parse %j', (json, code, why) => {
    const attempt = () => parseSchedule(json)
    expect(attempt).toThrow(InvalidInputError)
    expect(attempt).toThrow(expect.objectContaining({ code }))
    expect(attempt).toThrow(why)
  })
})
