import { DAY_S } from '../calendar/calendar.js'
import { ChangeFinder } from './change-finder.js'

/**
 * A stretch of time in which a zone keeps one offset, in epoch seconds. If the offset grows at its start,
 * some local times are missing (a gap). If the offset shrinks, some come twice (an overlap).
 */
export interface Segment {
  readonly start: number
  readonly endExclusive: number
  /** Local time minus UTC, in seconds. */
  readonly offset: number
  readonly offsetBefore: number
  readonly offsetAfter: number
}

/** Returns a zone's offset at an epoch second. It may be slow. */
export type OffsetProbe = (second: number) => number

// The shortest time that any zone kept an offset is 6.96 days (Brazil in October 2000, Gaza from 2040 on). So
// at most one change lies between two samples.
export const SAMPLE_S = 6 * DAY_S

/**
 * Returns the segments between two instants, in order. The first and the last are cut off at the bounds. No
 * offset may last for less than `stride` seconds, or it may be missed.
 *
 * Proven by test/schedule/segment.test.ts.
 */
export function findSegments(
  probe: OffsetProbe,
  from: number,
  untilExclusive: number,
  stride: number = SAMPLE_S,
  finder: ChangeFinder = new ChangeFinder((second, offset) => probe(second) === offset),
): Segment[] {
  const offsetBefore = probe(from - 1)
  const starts = [from]
  const offsets = [offsetBefore]
  let last = from - 1
  let offset = offsetBefore
  while (last < untilExclusive) {
    const sample = Math.min(last + stride, untilExclusive)
    const offsetThere = probe(sample)
    if (offsetThere !== offset) {
      const change = finder.find(last, sample, offset)
      if (change === from) offsets[0] = offsetThere
      else if (change < untilExclusive) {
        starts.push(change)
        offsets.push(offsetThere)
      }
    }
    last = sample
    offset = offsetThere
  }
  return starts.map((start, i) => ({
    start,
    endExclusive: starts[i + 1] ?? untilExclusive,
    offset: offsets[i]!,
    offsetBefore: offsets[i - 1] ?? offsetBefore,
    offsetAfter: offsets[i + 1] ?? offset,
  }))
}
