import { DAY_S } from '../calendar/calendar.js'
import { ChangeEffect } from '../count/change-effect.js'
import { FIRST_SECOND, LAST_INSTANT, LAST_SECOND, NEVER } from '../horizon.js'
import type { Pattern } from '../calendar/pattern.js'
import type { Segment } from './segment.js'
import type { Zone } from './zone.js'

/** What to do with a local time that does not exist. */
export type Gap = 'next' | 'shift' | 'skip'

/** Which instants to use for a local time that comes twice. */
export type Overlap = 'first' | 'second' | 'both'

// Local time is always closer to UTC than this. A segment that ends this long before a local time (read as
// UTC) cannot contain it.
const MARGIN_S = 2 * DAY_S

// A counting loop that skips more than this probes single days instead of loading whole blocks of the zone's
// table.
const FAR_S = 10 * DAY_S

const YEAR_S = 366 * DAY_S

// Finding all changes of a year takes about ten probes; finding those around one instant takes two or three.
// So up to this many occurrences per year, probing around each is cheaper. The limit is lower for patterns
// that drift through the day, because each of their occurrences is costly to find.
const SPARSE_PER_YEAR = 4
const DRIFTING_PER_YEAR = 1

// Under `skip`, a pattern ends after 32 gaps in a row without a match, with a segment on either side of each.
// Such a pattern coincides with the zone's own rule: 02:30 on the second Sunday of March in New York, for
// example.
const MAX_SEGMENTS_WITHOUT_MATCH = 64

/**
 * Translates a pattern of local times into instants of a zone, in order and each once. The gap and overlap
 * rules decide about local times that are missing or come twice.
 *
 * Proven by test/schedule/dst-table.test.ts, test/schedule/countdown.test.ts and test/schedule/walk.test.ts.
 */
export class WallClock {
  readonly pattern: Pattern
  readonly zone: Zone
  readonly gap: Gap
  readonly overlap: Overlap

  readonly #changeEffect: ChangeEffect
  /**
   * The latest result of `next`, and the argument it was for. Any argument between the two has the same
   * result.
   */
  #answeredFrom = Infinity
  #answer = -Infinity
  /** There are no instants after this one. A long search may have found that out. */
  #nothingAfter = LAST_INSTANT

  constructor(pattern: Pattern, zone: Zone, gap: Gap, overlap: Overlap) {
    this.pattern = pattern
    this.zone = zone
    this.gap = gap
    this.overlap = overlap
    this.#changeEffect = new ChangeEffect(pattern, zone, gap, overlap)
  }

  /** Returns the first instant strictly later than `after`, in epoch milliseconds, or `NEVER`. */
  next(after: number): number {
    if (after >= this.#nothingAfter) return NEVER
    if (after >= this.#answeredFrom && after < this.#answer) return this.#answer
    const found = this.#find(after)
    if (found === NEVER) this.#nothingAfter = after
    else {
      this.#answeredFrom = after
      this.#answer = found
    }
    return found
  }

  #find(after: number): number {
    const afterSecond = Math.max(Math.floor(after / 1000), FIRST_SECOND - 1)
    let segment = this.zone.segmentAt(afterSecond)
    let nothingBefore = -Infinity
    for (let futile = 0; futile < MAX_SEGMENTS_WITHOUT_MATCH; futile++) {
      const local = this.pattern.firstFrom(Math.max(this.#startIn(segment, afterSecond), nothingBefore))
      let found = local < this.#endIn(segment) ? local - segment.offset : NEVER
      const missing = segment.offset - segment.offsetBefore
      const gapCounts =
        afterSecond < segment.start + missing && nothingBefore < segment.start + segment.offset
      if (missing > 0 && gapCounts) {
        found = Math.min(found, this.#nextFromGap(segment, afterSecond))
      }
      if (found !== NEVER) return found <= LAST_SECOND ? found * 1000 : NEVER
      const goesBack = segment.offsetAfter < segment.offset
      if ((local === Infinity && !goesBack) || segment.endExclusive > LAST_SECOND) return NEVER
      // When clocks go back, local times that have already passed come again. Otherwise segments that end
      // before `local` can be skipped.
      nothingBefore = goesBack ? -Infinity : local
      const jump = goesBack ? segment.endExclusive : Math.max(segment.endExclusive, local - MARGIN_S)
      segment = this.zone.segmentAt(Math.min(jump, LAST_SECOND))
    }
    return NEVER
  }

  /**
   * Counts the instants after `after` and up to `at`, which must be one of them. Above `most`, the result may
   * be any number greater than `most`.
   */
  count(after: number, at: number, most: number): number {
    // Call `#find`, not `next`: the cached result of `next` must survive.
    const first = after >= this.#nothingAfter ? NEVER : this.#find(after)
    if (!(first < at)) return first === at ? 1 : 0
    const atSecond = at / 1000
    if (this.gap !== 'skip' && this.overlap !== 'both' && this.pattern.isAtLeastADayApart) {
      return 1 + this.#countLocalsOneToOne(first / 1000, atSecond, most)
    }
    if (this.zone.isFixed) return this.#countLocals(first / 1000 - 1, atSecond, most)
    return this.#countAcrossChanges(first / 1000 - 1, atSecond, most)
  }

  /**
   * Counts the instants after one second and up to another. An end that is near a change of clocks is counted
   * segment by segment. The rest is counted as local times, corrected for changes.
   */
  #countAcrossChanges(after: number, at: number, most: number): number {
    const from = this.#awayFromChanges(after, 1)
    const until = this.#awayFromChanges(at, -1)
    if (!(from < until)) return this.#countSegments(after, at, most)
    let count = this.#countSegments(after, from, most)
    if (count <= most) count += this.#countCorrected(from, until, most - count)
    return count > most ? count : count + this.#countSegments(until, at, most - count)
  }

  /**
   * Counts between two instants that are not near any change: the local times, corrected by the effect of
   * each change in between.
   */
  #countCorrected(from: number, until: number, most: number): number {
    let count = 0
    let start = from
    // The stretches grow. Mostly the first few years already exceed `most`.
    for (let years = 1; start < until && count <= most; years *= 8) {
      const yearly = this.zone.yearlyFromSecond
      const far = start + years * YEAR_S
      const end = Math.min(until, this.#awayFromChanges(start < yearly && far > yearly ? yearly : far, 1))
      count += this.#isSparse(start, end)
        ? this.#countSparse(start, end, most - count)
        : this.#countByChanges(start, end, most - count)
      start = end
    }
    return count
  }

  #countByChanges(start: number, end: number, most: number): number {
    const changed = this.#changeEffect.between(start, end)
    return this.#countLocals(start, end, most - changed) + changed
  }

  /** Counts the local times after one instant and up to another. */
  #countLocals(after: number, until: number, most: number): number {
    const from = after + this.zone.offsetAt(after) + 1
    return this.pattern.count(from, until + this.zone.offsetAt(until) + 1, most)
  }

  /** Counts groups of local times that lie close together, and probes for changes around each group only. */
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
      const changes = zone.probeChangesBetween(
        Math.max(start, first - MARGIN_S),
        Math.min(end, latest + MARGIN_S),
      )
      for (const change of changes) count += this.#changeEffect.of(change)
    }
    return count
  }

  /** Whether probing around each local time takes fewer probes than finding every change. */
  #isSparse(start: number, end: number): boolean {
    const { grid } = this.pattern
    const drifts = grid !== undefined && grid.step % DAY_S !== 0
    const most = ((drifts ? DRIFTING_PER_YEAR : SPARSE_PER_YEAR) * (end - start)) / YEAR_S
    return start < this.zone.yearlyFromSecond && this.pattern.count(start, end, most) <= most
  }

  /** Returns the nearest instant in a direction that is at least two days from any change of clocks. */
  #awayFromChanges(second: number, direction: 1 | -1): number {
    const change = this.zone.changeNear(second, MARGIN_S)
    return change === undefined ? second : change.at + direction * MARGIN_S
  }

  /**
   * Counts local times instead of instants, after `from` and up to `until`. This is exact where no occurrence
   * is skipped or doubled and no gap contains two local times. Only the gap of a zone that crosses the date
   * line is that long, so the days around a crossing are counted by segment.
   */
  #countLocalsOneToOne(from: number, until: number, most: number): number {
    const crossing = this.zone.dateLineCrossingBetween(from, until)
    if (crossing === undefined) {
      return this.pattern.count(this.#localAt(from) + 1, this.#localAt(until) + 1, most)
    }
    const before = Math.max(from, crossing - MARGIN_S)
    const behind = Math.min(until, crossing + MARGIN_S)
    const count =
      this.pattern.count(this.#localAt(from) + 1, this.#localAt(before) + 1, most) +
      this.#countSegments(before, behind, most)
    return count > most ? count : count + this.#countLocalsOneToOne(behind, until, most - count)
  }

  /**
   * Returns what clocks show at an instant. An occurrence that moved out of a gap has an earlier local time,
   * by less than a day.
   */
  #localAt(second: number): number {
    return second + this.zone.segmentAt(second).offset
  }

  /**
   * Counts segment by segment. Everything up to `covered` has been counted, even if the next segment comes in
   * another piece.
   */
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

  /**
   * Counts the instants after `after` and up to `last` that come from the gap before a segment and do not
   * coincide with the segment's own.
   */
  #countGap(segment: Segment, after: number, last: number): number {
    if (this.gap === 'skip') return 0
    const gapEnd = segment.start + segment.offset
    if (this.gap === 'next') {
      return this.#nextFromGap(segment, after) <= last && !this.#matches(gapEnd) ? 1 : 0
    }
    const missing = segment.offset - segment.offsetBefore
    const until = Math.min(gapEnd, last + 1 + segment.offsetBefore)
    let count = 0
    let local = this.pattern.firstFrom(Math.max(segment.start, after + 1) + segment.offsetBefore)
    for (; local < until; local = this.pattern.firstFrom(local + 1))
      if (!this.#matches(local + missing)) count++
    return count
  }

  #matches(local: number): boolean {
    return this.pattern.count(local, local + 1, 1) > 0
  }

  /** Returns the local time from which a segment's own instants count. */
  #startIn(segment: Segment, afterSecond: number): number {
    const start = Math.max(afterSecond + 1, segment.start) + segment.offset
    const repeatsUntil = segment.start + segment.offsetBefore
    return this.overlap === 'first' && repeatsUntil > start ? repeatsUntil : start
  }

  /** Returns the local time, exclusive, up to which a segment's own instants count. */
  #endIn(segment: Segment): number {
    const offset = this.overlap === 'second' ? Math.min(segment.offset, segment.offsetAfter) : segment.offset
    return segment.endExclusive + offset
  }

  /** Returns the first instant after `afterSecond` that comes from the gap before a segment, or `NEVER`. */
  #nextFromGap(segment: Segment, afterSecond: number): number {
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
