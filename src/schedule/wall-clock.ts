import { DAY_S } from './calendar.js'
import { ChangeWorth } from './change-worth.js'
import { FIRST_SECOND, LAST_INSTANT, LAST_SECOND, NEVER } from './horizon.js'
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

const YEAR_S = 366 * DAY_S

// The changes of a year are found with about ten questions, those around an instant with two or three. What drifts
// through the day takes more to be found than to be asked about.
const MOST_SPARSE = 4
const MOST_DRIFTING = 1

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

  readonly #worth: ChangeWorth
  /** What was answered last, and for what: between the two the answer is the same. */
  #asked = Infinity
  #answer = -Infinity
  /** After this instant nothing comes any more; a long search may have found that. */
  #nothingAfter = LAST_INSTANT

  constructor(pattern: Pattern, zone: Zone, gap: Gap, overlap: Overlap) {
    this.pattern = pattern
    this.zone = zone
    this.gap = gap
    this.overlap = overlap
    this.#worth = new ChangeWorth(pattern, zone, gap, overlap)
  }

  /** The first instant strictly later than `after`, in epoch milliseconds, or `NEVER`. */
  next(after: number): number {
    if (after >= this.#nothingAfter) return NEVER
    if (after >= this.#asked && after < this.#answer) return this.#answer
    const found = this.#find(after)
    if (found === NEVER) this.#nothingAfter = after
    else {
      this.#asked = after
      this.#answer = found
    }
    return found
  }

  #find(after: number): number {
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
    // What was asked for is kept: this is another question.
    const first = after >= this.#nothingAfter ? NEVER : this.#find(after)
    if (!(first < at)) return first === at ? 1 : 0
    const atSecond = at / 1000
    if (this.gap !== 'skip' && this.overlap !== 'both' && this.pattern.daysApart) {
      return 1 + this.#countOneToOne(first / 1000, atSecond, most)
    }
    if (this.zone.isFixed) return this.#countLocals(first / 1000 - 1, atSecond, most)
    return this.#countStretch(first / 1000 - 1, atSecond, most)
  }

  /** Counts the instants after one and up to another: by the pattern alone where no change of clocks is near. */
  #countStretch(after: number, at: number, most: number): number {
    const from = this.#calmFrom(after, 1)
    const until = this.#calmFrom(at, -1)
    if (!(from < until)) return this.#countSegments(after, at, most)
    let count = this.#countSegments(after, from, most)
    if (count <= most) count += this.#countCalm(from, until, most - count)
    return count > most ? count : count + this.#countSegments(until, at, most - count)
  }

  /** The same between two instants that no change is near to: local times, and what each change adds or takes. */
  #countCalm(from: number, until: number, most: number): number {
    let count = 0
    let start = from
    // Longer and longer stretches: mostly there are more than enough after the first few years.
    for (let years = 1; start < until && count <= most; years *= 8) {
      const yearly = this.zone.yearlyFromSecond
      const far = start + years * YEAR_S
      const end = Math.min(until, this.#calmFrom(start < yearly && far > yearly ? yearly : far, 1))
      count += this.#isSparse(start, end)
        ? this.#countSparse(start, end, most - count)
        : this.#countByChanges(start, end, most - count)
      start = end
    }
    return count
  }

  #countByChanges(start: number, end: number, most: number): number {
    const changed = this.#worth.between(start, end)
    return this.#countLocals(start, end, most - changed) + changed
  }

  /** Counts local times after one instant and up to another. */
  #countLocals(after: number, until: number, most: number): number {
    const from = after + this.zone.offsetAt(after) + 1
    return this.pattern.count(from, until + this.zone.offsetAt(until) + 1, most)
  }

  /** Counts the local times of a few days at a time, and what the changes of clocks on these days add or take. */
  #countSparse(after: number, end: number, most: number): number {
    const { pattern, zone } = this
    const lastLocal = end + zone.offsetAt(end)
    const start = Math.max(after, Math.min(end, zone.constantUntilSecond))
    let count = start > after ? this.#countLocals(after, start, most) : 0
    let local = pattern.firstFrom(start + zone.offsetAt(start) + 1)
    while (local <= lastLocal && count <= most) {
      const first = local
      let latest = local
      for (; local <= lastLocal && local - latest <= 2 * MARGIN_S; local = pattern.firstFrom(local + 1)) {
        latest = local
        count++
      }
      const changes = zone.changesAmong(Math.max(start, first - MARGIN_S), Math.min(end, latest + MARGIN_S))
      for (const change of changes) count += this.#worth.of(change)
    }
    return count
  }

  /** Whether looking at what is named takes fewer questions than looking for every change. */
  #isSparse(start: number, end: number): boolean {
    const { grid } = this.pattern
    const drifts = grid !== undefined && grid.step % DAY_S !== 0
    const most = ((drifts ? MOST_DRIFTING : MOST_SPARSE) * (end - start)) / YEAR_S
    return start < this.zone.yearlyFromSecond && this.pattern.count(start, end, most) <= most
  }

  /** The nearest instant in a direction that is two days or more from any change of clocks. */
  #calmFrom(second: number, direction: 1 | -1): number {
    const change = this.zone.changeNear(second, MARGIN_S)
    return change === undefined ? second : change.at + direction * MARGIN_S
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
    return this.pattern.count(local, local + 1, 1) > 0
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
