import { DAY_S } from './calendar.js'
import { FIRST_SECOND, LAST_INSTANT, LAST_SECOND, NEVER } from './horizon.js'
import { LongCount } from './long-count.js'
import type { Pattern } from './pattern.js'
import type { Segment } from './segment.js'
import type { Zone } from './zone.js'

/** What becomes of a local time that does not exist. */
export type Gap = 'next' | 'shift' | 'skip'

/** Which instants a local time that comes twice stands for. */
export type Overlap = 'first' | 'second' | 'both'

// Local time is never further from UTC; what ends this long before a local time cannot contain it.
const MARGIN_S = 2 * DAY_S

// Who passes over this much again and again looks at single days rather than at all there is.
const FAR_S = 10 * DAY_S

// A pattern that met nothing but gaps 32 times in a row, with a segment on either side of each, lies on the
// zone's own rule, such as 02:30 on the second Sunday of March in New York: under `skip` it comes no more.
const MOST_FUTILE_SEGMENTS = 64

/**
 * A pattern of local times on the clocks of a zone: the instants it stands for, each once, in order. A local
 * time that is missing or comes twice follows the gap and overlap rule it was given.
 */
export class WallClock {
  readonly pattern: Pattern
  readonly zone: Zone
  readonly gap: Gap
  readonly overlap: Overlap

  readonly #long = new LongCount((from, untilExclusive, most) =>
    this.#countSegments(from * DAY_S - 1, untilExclusive * DAY_S - 1, most),
  )

  constructor(pattern: Pattern, zone: Zone, gap: Gap, overlap: Overlap) {
    this.pattern = pattern
    this.zone = zone
    this.gap = gap
    this.overlap = overlap
  }

  /** The first instant strictly later than `after`, in epoch milliseconds, or `NEVER`. */
  next(after: number): number {
    if (after >= LAST_INSTANT) return NEVER
    const afterSecond = Math.max(Math.floor(after / 1000), FIRST_SECOND - 1)
    let segment = this.zone.segmentAt(afterSecond)
    let nothingBefore = -Infinity
    for (let futile = 0; futile < MOST_FUTILE_SEGMENTS; futile++) {
      const local = this.pattern.firstFrom(Math.max(this.#startIn(segment, afterSecond), nothingBefore))
      let found = local < this.#endIn(segment) ? local - segment.offset : NEVER
      const missing = segment.offset - segment.offsetBefore
      const gapCounts =
        afterSecond < segment.start + missing && nothingBefore < segment.start + segment.offset
      if (missing > 0 && gapCounts) {
        found = Math.min(found, this.#fromGap(segment, afterSecond))
      }
      if (found !== NEVER) return found <= LAST_SECOND ? found * 1000 : NEVER
      const goesBack = segment.offsetAfter < segment.offset
      if ((local === Infinity && !goesBack) || segment.endExclusive > LAST_SECOND) return NEVER
      // Clocks that go back bring local times again that were already passed; else the segments that end
      // before `local` do not matter.
      nothingBefore = goesBack ? -Infinity : local
      const jump = goesBack ? segment.endExclusive : Math.max(segment.endExclusive, local - MARGIN_S)
      segment = this.zone.segmentAt(Math.min(jump, LAST_SECOND))
    }
    return NEVER
  }

  /** How many instants lie after `after` and up to `at`, which is one; when more than `most`, any number above it. */
  count(after: number, at: number, most: number): number {
    const first = this.next(after)
    if (!(first < at)) return first === at ? 1 : 0
    const atSecond = at / 1000
    if (this.gap !== 'skip' && this.overlap !== 'both' && this.pattern.daysApart) {
      return 1 + this.#countOneToOne(first / 1000, atSecond, most)
    }
    const afterSecond = Math.max(Math.floor(after / 1000), FIRST_SECOND - 1)
    // From some day on the zone keeps a yearly rule: what else is yearly need not be counted year by year.
    const firstDay = Math.ceil(Math.max(afterSecond + 1, this.zone.yearlyFrom) / DAY_S)
    const lastDay = Math.floor((atSecond + 1) / DAY_S)
    if (!this.pattern.isYearly || lastDay <= firstDay) return this.#countSegments(afterSecond, atSecond, most)
    const before = this.#countSegments(afterSecond, firstDay * DAY_S - 1, most)
    if (before > most) return before
    const within = before + this.#long.count(firstDay, lastDay, most - before)
    return within > most ? within : within + this.#countSegments(lastDay * DAY_S - 1, atSecond, most)
  }

  /**
   * Counts local times instead of instants after the one at `from` and up to `until`. None is left out or doubled
   * and a gap is too short for two of them, unless it is that of a zone that crossed the date line.
   */
  #countOneToOne(from: number, until: number, most: number): number {
    const crossing = this.zone.dateLineBetween(from, until)
    if (crossing === undefined) {
      return this.pattern.count(this.#labelAt(from) + 1, this.#labelAt(until) + 1, most)
    }
    const before = Math.max(from, crossing - MARGIN_S)
    const behind = Math.min(until, crossing + MARGIN_S)
    const count =
      this.pattern.count(this.#labelAt(from) + 1, this.#labelAt(before) + 1, most) +
      this.#countSegments(before, behind, most)
    return count > most ? count : count + this.#countOneToOne(behind, until, most - count)
  }

  /** What clocks show at an instant. A local time from the gap before it is earlier, by less than a day. */
  #labelAt(second: number): number {
    return second + this.zone.segmentAt(second).offset
  }

  /** Counts stretch by stretch: up to `covered` everything is counted, whatever piece of a segment comes next. */
  #countSegments(afterSecond: number, atSecond: number, most: number): number {
    let count = 0
    let covered = afterSecond
    let isFar = false
    while (covered < atSecond && count <= most) {
      const segment = this.zone.segmentAt(covered + 1, isFar)
      const last = Math.min(segment.endExclusive - 1, atSecond)
      const from = this.#startIn(segment, covered)
      const end = Math.min(this.#endIn(segment), last + 1 + segment.offset)
      if (from < end) count += this.pattern.count(from, end, most - count)
      if (segment.offset > segment.offsetBefore) count += this.#countGap(segment, covered, last)
      covered = last
      isFar = false
      if (segment.offsetAfter >= segment.offset) {
        const local = this.pattern.firstFrom(last + 1 + Math.min(segment.offset, segment.offsetBefore))
        covered = Math.max(last, local - MARGIN_S)
        isFar = covered - last > FAR_S
      }
    }
    return count
  }

  /** How many instants after `after` and up to `last` the gap before a segment adds to the segment's own. */
  #countGap(segment: Segment, after: number, last: number): number {
    if (this.gap === 'skip') return 0
    const gapEnd = segment.start + segment.offset
    if (this.gap === 'next') {
      return this.#fromGap(segment, after) <= last && !this.#names(gapEnd) ? 1 : 0
    }
    const missing = segment.offset - segment.offsetBefore
    const until = Math.min(gapEnd, last + 1 + segment.offsetBefore)
    let count = 0
    let local = this.pattern.firstFrom(Math.max(segment.start, after + 1) + segment.offsetBefore)
    for (; local < until; local = this.pattern.firstFrom(local + 1))
      if (!this.#names(local + missing)) count++
    return count
  }

  #names(local: number): boolean {
    return this.pattern.firstFrom(local) === local
  }

  /** The local time from which a segment's own instants count. */
  #startIn(segment: Segment, afterSecond: number): number {
    const start = Math.max(afterSecond + 1, segment.start) + segment.offset
    const repeatsUntil = segment.start + segment.offsetBefore
    return this.overlap === 'first' && repeatsUntil > start ? repeatsUntil : start
  }

  /** The local time, exclusive, up to which a segment's own instants count. */
  #endIn(segment: Segment): number {
    const offset = this.overlap === 'second' ? Math.min(segment.offset, segment.offsetAfter) : segment.offset
    return segment.endExclusive + offset
  }

  /** What the gap before a segment contributes after `afterSecond`. */
  #fromGap(segment: Segment, afterSecond: number): number {
    if (this.gap === 'skip') return NEVER
    const gapEnd = segment.start + segment.offset
    if (this.gap === 'next') {
      if (afterSecond >= segment.start) return NEVER
      return this.pattern.firstFrom(segment.start + segment.offsetBefore) < gapEnd ? segment.start : NEVER
    }
    const from = Math.max(segment.start, afterSecond + 1) + segment.offsetBefore
    const local = this.pattern.firstFrom(from)
    return local < gapEnd ? local - segment.offsetBefore : NEVER
  }
}
