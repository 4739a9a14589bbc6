import { parseSchedule } from 'carillon/schedule'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyInstant, anySchedule } from './any-schedule.js'

const seeds = fc.option(fc.string({ maxLength: 20 }), { nil: undefined })
const seedOf = (seed: string | undefined) => (seed === undefined ? {} : { seed })

describe('promise 13: a schedule’s next is after its previous', () => {
  it('next returns an integer strictly later than its argument', () => {
    fc.assert(
      fc.property(anySchedule, anyInstant, seeds, (schedule, after, seed) => {
        const at = schedule.next(after, seedOf(seed))
        if (at === undefined) return
        expect(Number.isInteger(at)).toBe(true)
        expect(at).toBeGreaterThan(after)
      }),
      { numRuns: 2000 },
    )
  })

  it('no occurrence lies between an instant and its next', () => {
    fc.assert(
      fc.property(anySchedule, anyInstant, seeds, fc.nat(), (schedule, after, seed, part) => {
        const at = schedule.next(after, seedOf(seed))
        if (at === undefined) return
        const between = after + (part % (at - after))
        expect(schedule.next(between, seedOf(seed))).toBe(at)
        expect(schedule.next(at - 1, seedOf(seed))).toBe(at)
      }),
      { numRuns: 2000 },
    )
  })

  it('next works at both ends of the years 1 to 9999 and ends there', () => {
    const first = Date.parse('0001-01-01T00:00Z')
    const last = Date.parse('9999-12-31T23:59:59.999Z')
    const anyEnd = fc.oneof(
      fc.integer({ min: 0, max: 3 * 86_400_000 }).map((ms) => first + ms),
      fc.integer({ min: 0, max: 3 * 86_400_000 }).map((ms) => last - ms),
      fc.constantFrom(-8.64e15, 8.64e15, first - 1, first, last, last + 1),
    )
    fc.assert(
      fc.property(anySchedule, anyEnd, seeds, (schedule, after, seed) => {
        const at = schedule.next(after, seedOf(seed))
        if (at === undefined) return
        expect(at).toBeGreaterThan(after)
        expect(at).toBeGreaterThanOrEqual(first)
        expect(at).toBeLessThanOrEqual(last)
        expect(schedule.preview(2, { from: Math.max(after, first), ...seedOf(seed) })).toBeDefined()
      }),
      { numRuns: 1000 },
    )
  })

  it('next does not depend on earlier calls', () => {
    fc.assert(
      fc.property(anySchedule, fc.array(anyInstant, { minLength: 2, maxLength: 8 }), (schedule, instants) => {
        const fresh = instants.map((after) => parseSchedule(JSON.stringify(schedule)).next(after))
        expect(instants.map((after) => schedule.next(after))).toEqual(fresh)
      }),
      { numRuns: 500 },
    )
  })

  it('preview returns the same instants as repeated calls of next', () => {
    fc.assert(
      fc.property(anySchedule, anyInstant, seeds, (schedule, from, seed) => {
        const expected: number[] = []
        let at = schedule.next(from - 1, seedOf(seed))
        while (at !== undefined && expected.length < 20) {
          expected.push(at)
          at = schedule.next(at, seedOf(seed))
        }
        const preview = schedule.preview(20, { from, ...seedOf(seed) })
        expect(preview.map((occurrence) => occurrence.at)).toEqual(expected)
      }),
      { numRuns: 1000 },
    )
  })

  it('the local time and offset of a preview denote its instant', () => {
    fc.assert(
      fc.property(anySchedule, anyInstant, (schedule, from) => {
        const preview = schedule.preview(3, { from })
        // Offsets of the 19th century have seconds, which Date cannot parse.
        const readable = preview.filter(({ offset }) => offset.length === 6)
        expect(readable.map(({ local, offset }) => Date.parse(local + offset))).toEqual(
          readable.map(({ at }) => Math.floor(at / 1000) * 1000),
        )
      }),
      { numRuns: 500 },
    )
  })

  it('a schedule survives two round trips through JSON unchanged', () => {
    fc.assert(
      fc.property(anySchedule, anyInstant, seeds, (schedule, after, seed) => {
        const text = JSON.stringify(schedule)
        const restored = parseSchedule(text)
        expect(JSON.stringify(restored)).toBe(text)
        expect(JSON.stringify(parseSchedule(JSON.parse(text)))).toBe(text)
        expect(restored.next(after, seedOf(seed))).toBe(schedule.next(after, seedOf(seed)))
        expect(restored.describe()).toBe(schedule.describe())
      }),
      { numRuns: 1000 },
    )
  })

  it('from, until and times bound the occurrences of the rule', () => {
    fc.assert(
      fc.property(anySchedule, (schedule) => {
        const { from, until, times, ...rest } = schedule.toJSON()
        if (from === undefined) return
        const unbounded = parseSchedule(rest)
        const expected: number[] = []
        let at = unbounded.next(from - 1)
        while (at !== undefined && expected.length < (times ?? 500) && at < (until ?? Infinity)) {
          expected.push(at)
          at = unbounded.next(at)
        }
        const preview = schedule.preview(expected.length + 1, { from: 0 })
        const ends = times !== undefined || expected.length < 500
        const found = preview.slice(0, ends ? undefined : expected.length)
        expect(found.map((occurrence) => occurrence.at)).toEqual(expected)
      }),
      { numRuns: 1000 },
    )
  })
})
