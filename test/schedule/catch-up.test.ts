import { catchUp, cron, daily, every, type Schedule } from 'carillon/schedule'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anySchedule } from './any-schedule.js'
import { cpuMs } from './cpu-time.js'

const HOUR = 3_600_000
const NOON = Date.UTC(2027, 0, 1, 12)

const hourly = (missed: 'skip' | 'once' | 'all', missedLimit = 100) => every('1h', { missed, missedLimit })

describe('catchUp', () => {
  it('returns nothing to fire before the next occurrence', () => {
    expect(catchUp(hourly('all'), { lastOccurrence: NOON, now: NOON + HOUR - 1 })).toEqual({
      fire: [],
      dropped: undefined,
      next: NOON + HOUR,
    })
  })

  it.each(['skip', 'once', 'all'] as const)(
    'fires an occurrence that is only just late under %s',
    (missed) => {
      const now = NOON + HOUR + 20
      expect(catchUp(hourly(missed), { lastOccurrence: NOON, now })).toEqual({
        fire: [NOON + HOUR],
        dropped: undefined,
        next: NOON + 2 * HOUR,
      })
    },
  )

  it('fires nothing under skip if the latest occurrence is too late', () => {
    const now = NOON + 3 * HOUR + 60_001
    expect(catchUp(hourly('skip'), { lastOccurrence: NOON, now })).toEqual({
      fire: [],
      dropped: { firstAt: NOON + HOUR, lastAt: NOON + 3 * HOUR },
      next: NOON + 4 * HOUR,
    })
    expect(catchUp(hourly('skip'), { lastOccurrence: NOON, now, grace: '2m' }).fire).toEqual([
      NOON + 3 * HOUR,
    ])
    expect(catchUp(hourly('skip'), { lastOccurrence: NOON, now: now - 1 }).fire).toEqual([NOON + 3 * HOUR])
  })

  it('extends the grace period of skip by the window', () => {
    const schedule = every('1h', { missed: 'skip', window: '30m' })
    const late = (ms: number) => catchUp(schedule, { lastOccurrence: NOON, now: NOON + HOUR + ms }).fire
    expect(late(31 * 60_000)).toEqual([NOON + HOUR])
    expect(late(31 * 60_000 + 1)).toEqual([])
  })

  it('fires only the latest occurrence under once', () => {
    expect(catchUp(hourly('once'), { lastOccurrence: NOON, now: NOON + 5.5 * HOUR })).toEqual({
      fire: [NOON + 5 * HOUR],
      dropped: { firstAt: NOON + HOUR, lastAt: NOON + 4 * HOUR },
      next: NOON + 6 * HOUR,
    })
  })

  it('fires the latest occurrences up to the limit under all, earliest first', () => {
    const now = NOON + 5 * HOUR
    expect(catchUp(hourly('all', 5), { lastOccurrence: NOON, now })).toEqual({
      fire: [1, 2, 3, 4, 5].map((hours) => NOON + hours * HOUR),
      dropped: undefined,
      next: NOON + 6 * HOUR,
    })
    expect(catchUp(hourly('all', 2), { lastOccurrence: NOON, now })).toMatchObject({
      fire: [NOON + 4 * HOUR, NOON + 5 * HOUR],
      dropped: { firstAt: NOON + HOUR, lastAt: NOON + 3 * HOUR },
    })
  })

  it('returns no next occurrence if the schedule has ended', () => {
    const schedule = daily({ at: '09:00', until: NOON, missed: 'all' })
    expect(catchUp(schedule, { lastOccurrence: NOON - 30 * HOUR, now: NOON })).toMatchObject({
      fire: [NOON - 27 * HOUR, NOON - 3 * HOUR],
      next: undefined,
    })
  })

  it('uses the jittered occurrences of the timer with this seed', () => {
    const schedule = every('1h', { jitter: '30m', missed: 'all' })
    const first = schedule.next(NOON, { seed: 'a' })!
    const { fire, next } = catchUp(schedule, { lastOccurrence: first - HOUR, now: first, seed: 'a' })
    expect({ fire, next }).toEqual({ fire: [first], next: first + HOUR })
  })

  it('catches up a schedule of seconds after decades without stepping through them', () => {
    for (const schedule of [every('1s', { missed: 'all' }), cron('* * * * * *', { missed: 'all' })]) {
      const { fire, dropped } = catchUp(schedule, { lastOccurrence: 0, now: NOON })
      expect(fire).toEqual(Array.from({ length: 100 }, (_, i) => NOON - (99 - i) * 1000))
      expect(dropped).toEqual({ firstAt: 1000, lastAt: NOON - 100_000 })
      expect(cpuMs(() => catchUp(schedule, { lastOccurrence: 0, now: NOON }))).toBeLessThan(100)
    }
  })

  it('agrees with stepping through the occurrences', () => {
    const start = Date.UTC(2027, 0, 1)
    fc.assert(
      fc.property(anySchedule, fc.integer({ min: 0, max: 400 * 86_400_000 }), (schedule, ms) => {
        const all = countedUpTo(schedule, start, start + ms, 3000)
        if (all === undefined) return
        const limit = schedule.missed === 'all' ? schedule.missedLimit : 1
        const { fire, next } = catchUp(schedule, { lastOccurrence: start, now: start + ms, grace: 1e15 })
        expect(fire).toEqual(all.slice(-limit))
        expect(next).toBe(schedule.next(start + ms))
      }),
      { numRuns: 500 },
    )
  })

  it('agrees with stepping for schedules of a few milliseconds', () => {
    const dense = fc.record({
      everyMs: fc.integer({ min: 1, max: 7 }),
      limit: fc.integer({ min: 1, max: 9 }),
    })
    const bounds = fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 0, max: 3000 }))
    fc.assert(
      fc.property(
        dense,
        bounds,
        fc.integer({ min: 0, max: 40 }),
        ({ everyMs, limit }, [start, ms], silence) => {
          // The schedule ended some time ago, so the search must find its very last millisecond.
          const until = start + ms + 1 - silence
          const schedule = every(everyMs, { missed: 'all', missedLimit: limit, until })
          const all = countedUpTo(schedule, start, start + ms, 5000)!
          expect(catchUp(schedule, { lastOccurrence: start, now: start + ms }).fire).toEqual(
            all.slice(-limit),
          )
        },
      ),
      { numRuns: 2000 },
    )
  })

  it.each([
    [{ lastOccurrence: 1, now: 0 }, /now must not be before/],
    [{ lastOccurrence: Number.NaN, now: 0 }, /epoch milliseconds/],
    [{ lastOccurrence: 0 }, /epoch milliseconds/],
    [{ lastOccurrence: 0, now: 1, limit: 3 }, /does not know the option "limit"/],
  ])('refuses the options %j', (options, why) => {
    expect(() => catchUp(daily(), options as never)).toThrow(why)
  })
})

function countedUpTo(schedule: Schedule, after: number, now: number, most: number): number[] | undefined {
  const found: number[] = []
  let at = schedule.next(after)
  while (at !== undefined && at <= now) {
    if (found.length === most) return undefined
    found.push(at)
    at = schedule.next(at)
  }
  return found
}
