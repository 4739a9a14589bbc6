import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findSegments } from '../../src/schedule/zone/segment.js'

const SIX_DAYS = 6 * 86_400
const FROM = 1_000_000_000
const UNTIL = FROM + 400 * 86_400

/** Changes at least six days apart, at any second, and the offset after each. */
const anyChanges = fc
  .array(
    fc.record({
      wait: fc.oneof(
        fc.integer({ min: SIX_DAYS, max: SIX_DAYS + 86_400 }),
        fc.integer({ min: SIX_DAYS, max: 200 * 86_400 }),
      ),
      offset: fc.integer({ min: -43_200, max: 50_400 }),
      onTheQuarter: fc.boolean(),
    }),
    { maxLength: 20 },
  )
  .map((steps) => {
    let at = FROM - SIX_DAYS - 1
    let last = 0
    const changes: { at: number; offset: number }[] = []
    for (const { wait, offset, onTheQuarter } of steps) {
      at += wait
      if (onTheQuarter) at = Math.ceil(at / 900) * 900
      if (offset !== last) changes.push({ at, offset })
      last = offset
    }
    return changes
  })

describe('findSegments', () => {
  it('finds every change if each offset lasts for at least six days', () => {
    fc.assert(
      fc.property(anyChanges, (changes) => {
        const probe = (second: number) => changes.findLast(({ at }) => at <= second)?.offset ?? 0
        const inside = changes.filter(({ at }) => at > FROM && at < UNTIL)
        const segments = findSegments(probe, FROM, UNTIL)
        expect(segments.map(({ start }) => start)).toEqual([FROM, ...inside.map(({ at }) => at)])
        for (const segment of segments) {
          expect(segment).toEqual({
            start: segment.start,
            endExclusive: inside.find(({ at }) => at > segment.start)?.at ?? UNTIL,
            offset: probe(segment.start),
            offsetBefore: probe(segment.start - 1),
            offsetAfter: probe(segment.endExclusive),
          })
        }
      }),
      { numRuns: 1000 },
    )
  })
})
