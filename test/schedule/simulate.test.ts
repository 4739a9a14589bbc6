import { LimitError } from 'carillon'
import { cron, daily, diff, every, simulate } from 'carillon/schedule'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anySchedule } from './any-schedule.js'

const DAY = 86_400_000
const HOUR = 3_600_000
const from = Date.UTC(2027, 0, 1)

describe('simulate', () => {
  it('returns all firings in order of time, then name', () => {
    const firings = simulate(
      { report: daily({ at: '06:00' }), backup: every('12h'), never: daily({ until: from }) },
      { from, to: from + DAY },
    )
    expect(firings).toEqual([
      { name: 'backup', at: from },
      { name: 'report', at: from + 6 * HOUR },
      { name: 'backup', at: from + 12 * HOUR },
    ])
    const together = simulate({ b: daily(), a: daily() }, { from, to: from + 1 })
    expect(together.map(({ name }) => name)).toEqual(['a', 'b'])
  })

  it('includes `from` and excludes `to`', () => {
    expect(simulate({ a: daily() }, { from, to: from + DAY })).toHaveLength(1)
    expect(simulate({ a: daily() }, { from, to: from + DAY + 1 })).toHaveLength(2)
    expect(simulate({ a: daily() }, { from: from + 1, to: from + DAY })).toHaveLength(0)
    expect(simulate({ a: daily() }, { from, to: from })).toEqual([])
  })

  it('derives the jitter of a schedule from its name', () => {
    const schedule = daily({ jitter: '1h' })
    const firings = simulate({ a: schedule, b: schedule }, { from, to: from + DAY })
    expect(firings.map(({ at }) => at)).toEqual(
      ['a', 'b'].map((seed) => schedule.next(from - 1, { seed })!).sort((a, b) => a - b),
    )
  })

  it('throws if there are more firings than the limit', () => {
    expect(() => simulate({ a: every('1s') }, { from, to: from + 2 * DAY })).toThrow(LimitError)
    expect(() => simulate({ a: every('1h') }, { from, to: from + DAY, limit: 23 })).toThrow(
      /more than 23 firings/,
    )
    expect(simulate({ a: every('1h') }, { from, to: from + DAY, limit: 24 })).toHaveLength(24)
  })

  it.each([
    [{ a: {} }, { from, to: from + 1 }, /"a" must be a schedule/],
    [{}, { from, to: from - 1 }, /to must not be before from/],
    [{}, { from }, /epoch milliseconds/],
    [{}, { from, to: from, until: 1 }, /does not know the option "until"/],
    [{}, { from, to: from, limit: 2e6 }, /at most 1000000/],
  ])('refuses the schedules %j with the options %j', (definitions, options, why) => {
    expect(() => simulate(definitions as never, options as never)).toThrow(why)
  })
})

describe('diff', () => {
  const range = { from, to: from + 3 * DAY }

  it('reports firings that moved', () => {
    const change = diff(
      simulate({ report: daily({ at: '09:00' }) }, range),
      simulate({ report: daily({ at: '10:00' }) }, range),
    )
    expect(change).toEqual({
      added: [],
      removed: [],
      moved: [0, 1, 2].map((days) => ({
        name: 'report',
        from: from + days * DAY + 9 * HOUR,
        to: from + days * DAY + 10 * HOUR,
      })),
      unchanged: 0,
    })
  })

  it('pairs each removed firing with the nearest new one', () => {
    const change = diff(
      simulate({ a: daily({ at: '09:20' }) }, { from, to: from + DAY }),
      simulate({ a: every('1h') }, { from, to: from + DAY }),
    )
    expect(change.moved).toEqual([{ name: 'a', from: from + 9 * HOUR + 20 * 60_000, to: from + 9 * HOUR }])
    expect(change.added).toHaveLength(23)
    const halves = diff(
      simulate({ a: cron('0 * * * *') }, { from, to: from + DAY }),
      simulate({ a: cron('30 * * * *') }, { from, to: from + DAY }),
    )
    expect(halves.moved).toHaveLength(24)
    expect(halves.moved.every((move) => move.to - move.from === HOUR / 2)).toBe(true)
  })

  it('reports added and removed firings by name', () => {
    const before = simulate({ old: daily(), same: daily({ at: '12:00' }) }, range)
    const after = simulate({ fresh: daily(), same: daily({ at: '12:00' }) }, range)
    const change = diff(before, after)
    expect(change.removed.map(({ name }) => name)).toEqual(['old', 'old', 'old'])
    expect(change.added.map(({ name }) => name)).toEqual(['fresh', 'fresh', 'fresh'])
    expect(change).toMatchObject({ moved: [], unchanged: 3 })
  })

  it('shows the effect of a changed gap rule', () => {
    const zone = 'America/New_York'
    const spring = { from: Date.parse('2027-03-12T00:00Z'), to: Date.parse('2027-03-17T00:00Z') }
    const run = (gap: 'next' | 'shift' | 'skip') => simulate({ a: daily({ at: '02:30', zone, gap }) }, spring)
    expect(diff(run('next'), run('skip'))).toMatchObject({
      removed: [{ name: 'a', at: Date.parse('2027-03-14T07:00Z') }],
      unchanged: 4,
    })
    expect(diff(run('next'), run('shift')).moved).toEqual([
      { name: 'a', from: Date.parse('2027-03-14T07:00Z'), to: Date.parse('2027-03-14T07:30Z') },
    ])
  })

  it('counts every firing exactly once', () => {
    const some = fc.dictionary(fc.constantFrom('a', 'b', 'c'), anySchedule).map((definitions) => {
      try {
        return simulate(definitions, { from, to: from + 40 * DAY, limit: 2000 })
      } catch {
        return []
      }
    })
    fc.assert(
      fc.property(some, some, (before, after) => {
        const { added, removed, moved, unchanged } = diff(before, after)
        expect(removed.length + moved.length + unchanged).toBe(before.length)
        expect(added.length + moved.length + unchanged).toBe(after.length)
        expect(moved.every((move) => move.from !== move.to)).toBe(true)
        const mirrored = diff(after, before)
        expect(mirrored.unchanged).toBe(unchanged)
      }),
      { numRuns: 300 },
    )
  })
})
