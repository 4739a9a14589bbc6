import { LimitError } from 'carillon'
import { cron, daily, every, type Schedule } from 'carillon/schedule'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const DAY = 86_400_000
const NINE = Date.UTC(2027, 0, 1, 9)

function all(schedule: Schedule): number[] {
  return schedule.preview(50, { from: 0 }).map(({ at }) => at)
}

describe('The terms from, until and times', () => {
  it('from is inclusive and until is exclusive', () => {
    expect(all(daily({ at: '09:00', from: NINE, until: NINE + 2 * DAY }))).toEqual([NINE, NINE + DAY])
    expect(all(daily({ at: '09:00', from: NINE + 1, until: NINE + 2 * DAY + 1 }))).toEqual([
      NINE + DAY,
      NINE + 2 * DAY,
    ])
  })

  it('from accepts instants and local times of the zone', () => {
    const zone = 'America/New_York'
    expect(daily({ zone, from: '2027-01-01' }).toJSON().from).toBe(Date.parse('2027-01-01T05:00Z'))
    expect(daily({ zone, from: '2027-07-01T09:30' }).toJSON().from).toBe(Date.parse('2027-07-01T13:30Z'))
    expect(daily({ zone, from: '2027-01-01T00:00Z' }).toJSON().from).toBe(Date.UTC(2027, 0, 1))
    expect(daily({ zone, from: '2027-01-01T00:00:00.250+01:00' }).toJSON().from).toBe(
      Date.parse('2026-12-31T23:00:00.250Z'),
    )
    // As in RFC 5545 and Temporal: a missing time moves forward, and of two equal times the first counts.
    expect(daily({ zone, from: '2027-03-14T02:30' }).toJSON().from).toBe(Date.parse('2027-03-14T07:30Z'))
    expect(daily({ zone, from: '2027-11-07T01:30' }).toJSON().from).toBe(Date.parse('2027-11-07T05:30Z'))
  })

  it('times counts occurrences from `from` on', () => {
    const thrice = daily({ at: '09:00', from: NINE, times: 3 })
    expect(all(thrice)).toEqual([NINE, NINE + DAY, NINE + 2 * DAY])
    expect(thrice.next(NINE + 2 * DAY)).toBeUndefined()
    expect(thrice.next(NINE + DAY)).toBe(NINE + 2 * DAY)
    expect(all(every('1h', { from: 1, times: 2 }))).toEqual([3_600_000, 7_200_000])
    expect(
      all(cron('30 1 * * *', { zone: 'America/New_York', overlap: 'both', from: '2027-11-07', times: 2 })),
    ).toEqual([Date.parse('2027-11-07T05:30Z'), Date.parse('2027-11-07T06:30Z')])
  })

  it.each([
    [{ times: 3 }, /give `from` as well/],
    [{ from: 0, times: 0 }, /from 1 to 5000/],
    [{ from: 0, times: 1.5 }, /from 1 to 5000/],
    [{ from: NINE, until: NINE }, /until must be later/],
    [{ from: '2027-02-29' }, /from "2027-02-29"/],
    [{ from: '2027-1-1' }, /cannot read from/],
    [{ from: 'tomorrow' }, /cannot read from/],
    [{ from: 0.5 }, /cannot read from/],
    [{ from: 8.64e15 }, /years 1 to 9999/],
    [{ until: Number.NaN }, /cannot read until/],
    [{ from: '2027-01-01T25:00' }, /cannot read from/],
    [{ from: '2027-01-01T00:00+24:00' }, /cannot read from/],
    [{ missed: 'some' }, /'skip', 'once', 'all'/],
    [{ missedLimit: 0 }, /missedLimit/],
    [{ jitter: '0s' }, /jitter must be from 1ms/],
    [{ jitter: '400d' }, /jitter must be from 1ms/],
    [{ window: '400d' }, /window must be from 1ms/],
    [{ jitter: '1m', window: '1m' }, /give one of them/],
  ])('refuses the terms %j', (options, why) => {
    expect(() => daily(options as never)).toThrow(why)
  })

  it('refuses limits above the maximum', () => {
    expect(() => daily({ from: 0, times: 5001 })).toThrow(LimitError)
    expect(() => daily({ missedLimit: 1001 })).toThrow(LimitError)
    expect(() => daily().preview(10_001)).toThrow(LimitError)
  })
})

describe('The term jitter', () => {
  const schedule = daily({ at: '09:00', jitter: '10m' })

  it('delays a timer always by the same amount, and different timers by different amounts', () => {
    const shift = schedule.next(0, { seed: 'user:42' })! - schedule.next(0)!
    expect(shift).toBeGreaterThan(0)
    expect(shift).toBeLessThan(600_000)
    let at = 0
    for (let i = 0; i < 10; i++) {
      at = schedule.next(at, { seed: 'user:42' })!
      expect(at % DAY).toBe(9 * 3_600_000 + shift)
    }
    expect(schedule.next(0, { seed: 'user:43' })).not.toBe(schedule.next(0, { seed: 'user:42' }))
  })

  it('gives the same delays on every machine', () => {
    const shifts = ['', 'a', 'user:1', 'user:2', 'ünïcode'].map(
      (seed) => schedule.next(0, { seed })! - 32_400_000,
    )
    expect(shifts).toMatchInlineSnapshot(`
      [
        401353,
        62115,
        246425,
        78526,
        469746,
      ]
    `)
  })

  it('spreads timers evenly', () => {
    const tenths = Array.from({ length: 10 }, () => 0)
    for (let i = 0; i < 10_000; i++) {
      const shift = schedule.next(0, { seed: `user:${i}` })! - 32_400_000
      tenths[Math.floor(shift / 60_000)]!++
    }
    // Each count is about 1000, with a standard deviation of 30.
    expect(Math.min(...tenths)).toBeGreaterThan(850)
    expect(Math.max(...tenths)).toBeLessThan(1150)
  })

  it('keeps occurrences equally far apart, even if the jitter is longer than the interval', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 0, max: 2 ** 41 }), (seed, after) => {
        const minutes = every('1m', { jitter: '1h' })
        const at = minutes.next(after, { seed })!
        expect(at - after).toBeLessThanOrEqual(60_000)
        expect(minutes.next(at, { seed })! - at).toBe(60_000)
      }),
    )
  })

  it('does not move `from` and `until`, so that no timer loses an occurrence', () => {
    const once = daily({ at: '09:00', jitter: '10m', from: NINE, until: NINE + 1 })
    expect(once.next(0, { seed: 'x' })).toBeGreaterThanOrEqual(NINE)
    expect(once.next(NINE + 600_000, { seed: 'x' })).toBeUndefined()
  })

  it('refuses a seed that is not a string', () => {
    expect(() => schedule.next(0, { seed: 7 as never })).toThrow(/seed must be a string/)
    expect(() => schedule.next(0, { sed: 'x' } as never)).toThrow(/does not know the option "sed"/)
    expect(() => schedule.next(Number.NaN)).toThrow(expect.objectContaining({ code: 'invalid-instant' }))
    expect(() => schedule.next('0' as never)).toThrow(expect.objectContaining({ code: 'invalid-instant' }))
  })
})

describe('The terms `window` and `missed`', () => {
  it('are readable by the engine', () => {
    const schedule = daily({ window: '2h', missed: 'all', missedLimit: 7 })
    expect(schedule).toMatchObject({ windowMs: 7_200_000, jitterMs: 0, missed: 'all', missedLimit: 7 })
    expect(daily()).toMatchObject({
      windowMs: 0,
      missed: 'once',
      missedLimit: 100,
      type: 'daily',
      zone: 'UTC',
    })
    expect(schedule.next(0)).toBe(DAY)
  })
})
