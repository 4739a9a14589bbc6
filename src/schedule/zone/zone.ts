import { InvalidInputError, shown } from '../../error/index.js'
import { DAY_S, dayNumber, isLeapYear, weekdayOf, yearOf } from '../calendar/calendar.js'
import { limits } from '../defaults.js'
import { ChangeFinder } from './change-finder.js'
import { type ClockChange, ChangeTable } from './change-table.js'
import { IntlOffsets } from './intl-offsets.js'
import { findSegments, type OffsetProbe, SAMPLE_S, type Segment } from './segment.js'

// 2^26 s, about two years. Probing one block takes half a millisecond.
const BLOCK_S = 67_108_864

// Before standard time, every zone kept local solar time. The last year for which a government has announced
// its own dates is 2087 (Morocco). From then on zones follow a yearly rule. Every kind of year occurs within
// the 40 years after that.
const FIRST_RULE_YEAR = 2088
const FIRST_RULE_YEAR_S = dayNumber(FIRST_RULE_YEAR, 1, 1) * DAY_S
const FIRST_YEAR = 1800
const FIRST_BLOCK_S = dayNumber(FIRST_YEAR, 1, 1) * DAY_S
const TABLE_END = 2128
const TABLE_END_S = dayNumber(TABLE_END, 1, 1) * DAY_S

// A zone that crosses the date line stays there for years. The shortest stay is Kwajalein's, 23 years (1969
// to 1993).
const DATE_LINE_SAMPLE_S = 5 * 365 * DAY_S

const NO_CHANGES: readonly ClockChange[] = []

const NEIGHBOURHOODS_PER_BLOCK = 16
// If nothing changes around an instant, two probes this far apart cover both sides.
const NEIGHBOURHOOD_S = 3 * DAY_S - 1

/**
 * A time zone as a table of segments. Intl takes microseconds per question and only translates instants to
 * local time. So each stretch is probed once, when it is first needed, and cached; after that a lookup takes
 * nanoseconds. The table is bounded: years before 1800 and from 2128 on are not stored.
 *
 * Proven by test/schedule/zone.test.ts and test/schedule/walk.test.ts. `npm run walk` compares every zone
 * with Temporal.
 */
export class Zone {
  readonly name: string
  /** Whether the offset never changes. */
  readonly isFixed: boolean
  readonly #blocks = new Map<number, readonly Segment[]>()
  readonly #neighbourhoodCounts = new Map<number, number>()
  #changes: ChangeTable | undefined
  #finder: ChangeFinder | undefined
  #neighbourhood: readonly Segment[] = [isolatedSegment(0, 0, 0)]
  #recent: Segment
  /** From here on `#recent` is complete. Earlier, a change before the piece may be missing from it. */
  #recentFrom: number

  constructor(name: string, fixedOffset?: number) {
    this.name = name
    this.#recent =
      fixedOffset === undefined ? isolatedSegment(0, 0, 0) : isolatedSegment(fixedOffset, -Infinity, Infinity)
    this.#recentFrom = this.#recent.start
    this.isFixed = fixedOffset !== undefined
  }

  /** The first year from which years of the same kind have the same changes. */
  get yearlyFrom(): number {
    return FIRST_RULE_YEAR
  }

  /** The epoch second before which every zone had one offset. */
  get constantUntilSecond(): number {
    return FIRST_BLOCK_S
  }

  /** The epoch second at which the year `yearlyFrom` begins. */
  get yearlyFromSecond(): number {
    return FIRST_RULE_YEAR_S
  }

  /**
   * Returns the segment that contains an epoch second, or a piece of it. `isOneOff` says that the caller will
   * not ask about instants nearby, so loading a whole block would be a waste.
   */
  segmentAt(second: number, isOneOff = false): Segment {
    const recent = this.#recent
    if (second >= this.#recentFrom && second < recent.endExclusive) return recent
    return (this.#recent = this.#findSegment(second, isOneOff))
  }

  /** Finds a local time: its instants, or the segment after the gap that contains it. */
  locate(local: number): { readonly instants: readonly number[]; readonly gapBefore: Segment | undefined } {
    const instants: number[] = []
    let gapBefore: Segment | undefined
    // No offset reaches a day and a half. No gap or overlap is longer than a day.
    let second = local - 1.5 * DAY_S
    while (second <= local + 1.5 * DAY_S) {
      const segment = this.segmentAt(second)
      const instant = local - segment.offset
      // A segment may come in pieces, and a piece may begin before the end of the previous one.
      if (instant >= Math.max(segment.start, second) && instant < segment.endExclusive) instants.push(instant)
      if (instant < segment.start && local - segment.offsetBefore >= segment.start) gapBefore = segment
      second = segment.endExclusive
    }
    return { instants, gapBefore }
  }

  /** Returns the clock changes of a year, in order. */
  changesIn(year: number): readonly ClockChange[] {
    if (this.isFixed || year < FIRST_YEAR) return NO_CHANGES
    this.#changes ??= new ChangeTable(offsetsOf(this.name), FIRST_RULE_YEAR)
    if (year < FIRST_RULE_YEAR) return this.#changes.changesIn(year)
    const sameKind = sameKindYear(year)
    const changes = this.#changes.changesIn(sameKind)
    if (sameKind === year || changes.length === 0) return changes
    const shift = yearStart(year) - yearStart(sameKind)
    return changes.map(({ at, before, after }) => ({ at: at + shift, before, after }))
  }

  /**
   * Returns the change less than `seconds` before or after an epoch second. `seconds` must be at most three
   * days, so that there is only one.
   */
  changeNear(second: number, seconds: number): ClockChange | undefined {
    const last = yearOfSecond(second + seconds)
    for (let year = yearOfSecond(second - seconds); year <= last; year++) {
      for (const change of this.changesIn(year)) if (Math.abs(change.at - second) < seconds) return change
    }
    return undefined
  }

  /** Returns the offset at an epoch second, by the changes of its year. */
  offsetAt(second: number): number {
    const changes = this.changesIn(yearOfSecond(second))
    const latest = changes.findLast(({ at }) => at <= second)
    return latest?.after ?? changes[0]?.before ?? this.segmentAt(second, true).offset
  }

  /**
   * Probes for the changes between two epoch seconds, a few days apart, and does not cache them. Only for
   * years before the yearly rule.
   */
  probeChangesBetween(after: number, until: number): readonly ClockChange[] {
    if (this.isFixed) return NO_CHANGES
    const probe = probeOf(this.name)
    const changes: ClockChange[] = []
    let last = Math.max(after, FIRST_BLOCK_S)
    let offset = probe(last)
    while (last < until) {
      const sample = Math.min(last + SAMPLE_S, until)
      const there = probe(sample)
      if (there !== offset) {
        changes.push({ at: this.#changeFinder.find(last, sample, offset), before: offset, after: there })
      }
      last = sample
      offset = there
    }
    return changes
  }

  /**
   * Returns when the zone first crossed the date line between two instants, exact to an hour. A crossing is a
   * change of at least half a day.
   */
  dateLineCrossingBetween(from: number, until: number): number | undefined {
    if (this.isFixed) return undefined
    const probe = probeOf(this.name)
    const last = Math.min(until, TABLE_END_S)
    let before = Math.max(from, FIRST_BLOCK_S)
    let offset = probe(before)
    while (before < last) {
      let after = Math.min(before + DATE_LINE_SAMPLE_S, last)
      const offsetAfter = probe(after)
      if (Math.abs(offsetAfter - offset) >= DAY_S / 2) {
        while (after - before > 3600) {
          const middle = Math.floor((before + after) / 2)
          if (Math.abs(probe(middle) - offset) >= DAY_S / 2) after = middle
          else before = middle
        }
        return after
      }
      before = after
      offset = offsetAfter
    }
    return undefined
  }

  #findSegment(second: number, isOneOff: boolean): Segment {
    if (second < FIRST_BLOCK_S) {
      this.#recentFrom = -Infinity
      return isolatedSegment(probeOf(this.name)(FIRST_BLOCK_S), -Infinity, FIRST_BLOCK_S)
    }
    if (second >= TABLE_END_S) return this.#segmentInSameKindYear(second, isOneOff)
    const segments = this.#segmentsAround(second, isOneOff)
    let i = segments.length - 1
    while (segments[i]!.start > second) i--
    this.#recentFrom = segments[i]!.start + (i === 0 ? NEIGHBOURHOOD_S / 2 : 0)
    return segments[i]!
  }

  /**
   * Returns the segments of an instant's block. For the first few instants of a block it returns only some
   * days around the instant, which takes a fraction of the probes. So a caller that asks for scattered
   * instants never pays for whole blocks.
   */
  #segmentsAround(second: number, isOneOff: boolean): readonly Segment[] {
    const block = Math.floor(second / BLOCK_S)
    const known = this.#blocks.get(block)
    if (known !== undefined) return known
    // A change shortly before `second` may affect it, so the neighbourhood must reach back far enough.
    const seen = this.#neighbourhood
    if (second >= seen[0]!.start + NEIGHBOURHOOD_S / 2 && second < seen.at(-1)!.endExclusive) return seen
    const count = (this.#neighbourhoodCounts.get(block) ?? 0) + 1
    if (count <= NEIGHBOURHOODS_PER_BLOCK || isOneOff) {
      if (!isOneOff) this.#neighbourhoodCounts.set(block, count)
      return (this.#neighbourhood = this.#segmentsBetween(second - NEIGHBOURHOOD_S, second + NEIGHBOURHOOD_S))
    }
    // A change shortly before the block may repeat or shift local times into it.
    const found = this.#segmentsBetween(
      block * BLOCK_S - NEIGHBOURHOOD_S,
      (block + 1) * BLOCK_S + NEIGHBOURHOOD_S / 2,
    )
    this.#blocks.set(block, found)
    this.#neighbourhoodCounts.delete(block)
    return found
  }

  /**
   * Returns the segments from one second to almost another. A change shortly after a segment repeats local
   * times of that segment. So the last piece ends early enough that any change near its end is known.
   */
  #segmentsBetween(from: number, until: number): readonly Segment[] {
    const probe = probeOf(this.name)
    const segments = findSegments(probe, Math.floor(from), Math.ceil(until), SAMPLE_S, this.#changeFinder)
    const last = segments.pop()!
    const endExclusive = last.endExclusive - Math.floor(NEIGHBOURHOOD_S / 2)
    if (last.start < endExclusive) segments.push({ ...last, endExclusive, offsetAfter: last.offset })
    return segments
  }

  get #changeFinder(): ChangeFinder {
    return (this.#finder ??= new ChangeFinder((second, offset) => probeOf(this.name)(second) === offset))
  }

  /**
   * A yearly rule depends only on the year's length and first weekday. So one year of each kind is probed for
   * all.
   */
  #segmentInSameKindYear(second: number, isOneOff: boolean): Segment {
    const year = yearOfSecond(second)
    const start = yearStart(year)
    const end = yearStart(year + 1)
    const shift = start - yearStart(sameKindYear(year))
    const sameKind = this.segmentAt(second - shift, isOneOff)
    const cutAtStart = sameKind.start + shift <= start
    this.#recentFrom = Math.max(start, this.#recentFrom + shift)
    const cutAtEnd = sameKind.endExclusive + shift >= end
    return {
      start: cutAtStart ? start : sameKind.start + shift,
      endExclusive: cutAtEnd ? end : sameKind.endExclusive + shift,
      offset: sameKind.offset,
      offsetBefore: cutAtStart ? sameKind.offset : sameKind.offsetBefore,
      offsetAfter: cutAtEnd ? sameKind.offset : sameKind.offsetAfter,
    }
  }
}

/** Returns a segment without a gap or overlap at either end. */
function isolatedSegment(offset: number, start: number, endExclusive: number): Segment {
  return { start, endExclusive, offset, offsetBefore: offset, offsetAfter: offset }
}

function yearStart(year: number): number {
  return dayNumber(year, 1, 1) * DAY_S
}

function yearOfSecond(second: number): number {
  return yearOf(Math.floor(second / DAY_S))
}

const sameKindYears: number[] = []

/** Returns the first year, from `FIRST_RULE_YEAR` on, with the same length and first weekday. */
function sameKindYear(year: number): number {
  const kind = kindOf(year)
  const known = sameKindYears[kind]
  if (known !== undefined) return known
  let candidate = FIRST_RULE_YEAR
  while (kindOf(candidate) !== kind) candidate++
  sameKindYears[kind] = candidate
  return candidate
}

function kindOf(year: number): number {
  return weekdayOf(dayNumber(year, 1, 1)) * 2 + (isLeapYear(year) ? 1 : 0)
}

const zones = new Map<string, Zone>()
const opened = new Map<string, IntlOffsets>()

/**
 * Returns the zone for an IANA name (`'Europe/Paris'`, aliases included), `'UTC'`, or a fixed offset such as
 * `'+05:30'`.
 */
export function zoneOf(name: unknown): Zone {
  if (typeof name !== 'string' || name.length > limits.zoneNameLength) throw refused(name)
  const known = zones.get(name)
  if (known !== undefined) return known
  const zone = fixedZone(name) ?? new Zone(canonicalCase(name))
  if (zones.size >= limits.cachedZones) zones.clear()
  zones.set(name, zone)
  return zone
}

/** Returns the release of the tz database in this Node, such as `'2025c'`. */
export function tzdataVersion(): string {
  return process.versions['tz'] ?? 'unknown'
}

// Intl accepts offsets only from Node 22 on. Stored schedules must not depend on that, so offsets are parsed
// here.
function fixedZone(name: string): Zone | undefined {
  if (name.toUpperCase() === 'UTC') return new Zone('UTC', 0)
  const match = /^([+-])(\d\d):(\d\d)$/.exec(name)
  if (match === null) return undefined
  const hours = Number(match[2])
  const minutes = Number(match[3])
  if (hours > 23 || minutes > 59) throw refused(name)
  return new Zone(name, (match[1] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60))
}

function canonicalCase(name: string): string {
  if (/^[+-]/.test(name)) throw refused(name)
  let offsets: IntlOffsets
  try {
    offsets = new IntlOffsets(name)
  } catch (error) {
    throw refused(name, error)
  }
  // Correct only the upper and lower case. What an alias points to differs between releases of the tz
  // database.
  const proper = offsets.zone.toLowerCase() === name.toLowerCase() ? offsets.zone : name
  // `next` will need this formatter, so keep it.
  if (!opened.has(proper)) keepOpen(proper, offsets)
  return proper
}

function offsetsOf(name: string): IntlOffsets {
  const known = opened.get(name)
  if (known !== undefined) return known
  const offsets = new IntlOffsets(name)
  keepOpen(name, offsets)
  return offsets
}

function keepOpen(name: string, offsets: IntlOffsets): void {
  if (opened.size >= limits.cachedFormatters) opened.clear()
  opened.set(name, offsets)
}

function probeOf(name: string): OffsetProbe {
  const offsets = offsetsOf(name)
  return (second) => offsets.at(second)
}

function refused(name: unknown, cause?: unknown): InvalidInputError {
  return new InvalidInputError(
    'invalid-zone',
    `cannot find the time zone ${shown(name)}: give an IANA name such as 'Europe/Paris', 'UTC', or an offset ` +
      `such as '+05:30' (tz database ${tzdataVersion()})`,
    { cause },
  )
}
