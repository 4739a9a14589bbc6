import { InvalidInputError, shown } from '../error/index.js'
import { DAY_S, dayNumber, isLeapYear, weekdayOf, yearOf } from './calendar.js'
import { ChangeFinder } from './change-finder.js'
import { type Change, ChangeTable } from './change-table.js'
import { findSegments, IntlOffsets, type OffsetProbe, SAMPLE_S, type Segment } from './segment.js'

// 2^26 s, about two years: half a millisecond of probing when a zone is first asked about such a stretch.
const BLOCK_S = 67_108_864

// Before standard time every zone kept the sun's; long after the last year that governments have announced
// (Morocco, 2087) zones follow a yearly rule. Every kind of year comes in the forty years after that one.
const FIRST_LIKE_YEAR = 2088
const FIRST_LIKE_YEAR_S = dayNumber(FIRST_LIKE_YEAR, 1, 1) * DAY_S
const FIRST_YEAR = 1800
const FIRST_BLOCK_S = dayNumber(FIRST_YEAR, 1, 1) * DAY_S
const YEARLY_FROM = 2128
const YEARLY_FROM_S = dayNumber(YEARLY_FROM, 1, 1) * DAY_S

// Who crosses the date line stays there for years: 23 the shortest, Kwajalein from 1969 to 1993.
const SETTLED_S = 5 * 365 * DAY_S

const NO_CHANGES: readonly Change[] = []

const MOST_GLIMPSES = 16
// Two probes suffice for both sides together, if nothing changes between them.
const GLIMPSE_S = 3 * DAY_S - 1
const MOST_ZONES = 512
const MOST_OPEN = 32
const LONGEST_NAME = 64

/**
 * A time zone as a table of segments. Intl answers in microseconds and only forwards, so every stretch is
 * probed once, when it is first needed, and kept; after that a look-up costs nanoseconds. A table is bounded:
 * the years before 1800 and from 2128 on are not kept.
 */
export class Zone {
  readonly name: string
  /** Whether clocks never change. */
  readonly isFixed: boolean
  readonly #blocks = new Map<number, readonly Segment[]>()
  readonly #glimpses = new Map<number, number>()
  #changes: ChangeTable | undefined
  #finder: ChangeFinder | undefined
  #glimpse: readonly Segment[] = [lone(0, 0, 0)]
  #recent: Segment
  /** From here on the recent segment says all there is to know: before it, a change may lie behind the cut. */
  #recentFrom: number

  constructor(name: string, fixedOffset?: number) {
    this.name = name
    this.#recent = fixedOffset === undefined ? lone(0, 0, 0) : lone(fixedOffset, -Infinity, Infinity)
    this.#recentFrom = this.#recent.start
    this.isFixed = fixedOffset !== undefined
  }

  /** The year from which like years have like changes. */
  get yearlyFrom(): number {
    return FIRST_LIKE_YEAR
  }

  /** The epoch second before which every zone kept one offset. */
  get constantUntilSecond(): number {
    return FIRST_BLOCK_S
  }

  /** The epoch second at which that year begins. */
  get yearlyFromSecond(): number {
    return FIRST_LIKE_YEAR_S
  }

  /** The segment an epoch second lies in, or a piece of it. Who asks `inPassing` will not ask about its surroundings. */
  segmentAt(second: number, inPassing = false): Segment {
    const recent = this.#recent
    if (second >= this.#recentFrom && second < recent.endExclusive) return recent
    return (this.#recent = this.#look(second, inPassing))
  }

  /** Where a local time lies: at one or more instants, or in the gap before a segment. */
  locate(local: number): { readonly instants: readonly number[]; readonly gapBefore: Segment | undefined } {
    const instants: number[] = []
    let gapBefore: Segment | undefined
    // No offset reaches a day and a half, and no gap or overlap is longer than one.
    let second = local - 1.5 * DAY_S
    while (second <= local + 1.5 * DAY_S) {
      const segment = this.segmentAt(second)
      const instant = local - segment.offset
      // A segment may come in pieces, and the next piece begin before the last one ended.
      if (instant >= Math.max(segment.start, second) && instant < segment.endExclusive) instants.push(instant)
      if (instant < segment.start && local - segment.offsetBefore >= segment.start) gapBefore = segment
      second = segment.endExclusive
    }
    return { instants, gapBefore }
  }

  /** The changes of clocks in a year, in order. */
  changesIn(year: number): readonly Change[] {
    if (this.isFixed || year < FIRST_YEAR) return NO_CHANGES
    this.#changes ??= new ChangeTable(offsetsOf(this.name), FIRST_LIKE_YEAR)
    if (year < FIRST_LIKE_YEAR) return this.#changes.in(year)
    const like = likeYear(year)
    const changes = this.#changes.in(like)
    if (like === year || changes.length === 0) return changes
    const shift = yearStart(year) - yearStart(like)
    return changes.map(({ at, before, after }) => ({ at: at + shift, before, after }))
  }

  /** The change at most so many seconds before or after an epoch second; less than three days, or there might be two. */
  changeNear(second: number, seconds: number): Change | undefined {
    const last = yearOfSecond(second + seconds)
    for (let year = yearOfSecond(second - seconds); year <= last; year++) {
      for (const change of this.changesIn(year)) if (Math.abs(change.at - second) < seconds) return change
    }
    return undefined
  }

  /** The offset at an epoch second, from the changes of its year. */
  offsetAt(second: number): number {
    const changes = this.changesIn(yearOfSecond(second))
    const latest = changes.findLast(({ at }) => at <= second)
    return latest?.after ?? changes[0]?.before ?? this.segmentAt(second, true).offset
  }

  /** The changes on the few days between two epoch seconds before the yearly rule, asked for and not kept. */
  changesAmong(after: number, until: number): readonly Change[] {
    if (this.isFixed) return NO_CHANGES
    const probe = probeOf(this.name)
    const changes: Change[] = []
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

  /** When, within an hour, the zone first crossed the date line between two instants: its offset changed by half a day. */
  dateLineBetween(from: number, until: number): number | undefined {
    if (this.isFixed) return undefined
    const probe = probeOf(this.name)
    const last = Math.min(until, YEARLY_FROM_S)
    let before = Math.max(from, FIRST_BLOCK_S)
    let offset = probe(before)
    while (before < last) {
      let after = Math.min(before + SETTLED_S, last)
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

  #look(second: number, inPassing: boolean): Segment {
    if (second < FIRST_BLOCK_S) {
      this.#recentFrom = -Infinity
      return lone(probeOf(this.name)(FIRST_BLOCK_S), -Infinity, FIRST_BLOCK_S)
    }
    if (second >= YEARLY_FROM_S) return this.#lookInLikeYear(second, inPassing)
    const segments = this.#segmentsAround(second, inPassing)
    let i = segments.length - 1
    while (segments[i]!.start > second) i--
    this.#recentFrom = segments[i]!.start + (i === 0 ? GLIMPSE_S / 2 : 0)
    return segments[i]!
  }

  /**
   * The block of an instant or, the first few times, only some days around it, which takes a fraction of the
   * probes: who asks about an instant here and there never pays for whole blocks.
   */
  #segmentsAround(second: number, inPassing: boolean): readonly Segment[] {
    const block = Math.floor(second / BLOCK_S)
    const known = this.#blocks.get(block)
    if (known !== undefined) return known
    // What a change shortly before means for this second must still be seen.
    const seen = this.#glimpse
    if (second >= seen[0]!.start + GLIMPSE_S / 2 && second < seen.at(-1)!.endExclusive) return seen
    const glimpses = (this.#glimpses.get(block) ?? 0) + 1
    if (glimpses <= MOST_GLIMPSES || inPassing) {
      if (!inPassing) this.#glimpses.set(block, glimpses)
      return (this.#glimpse = this.#segmentsBetween(second - GLIMPSE_S, second + GLIMPSE_S))
    }
    // A change shortly before the block matters in it: the times it repeats or shifts may come after it.
    const found = this.#segmentsBetween(block * BLOCK_S - GLIMPSE_S, (block + 1) * BLOCK_S + GLIMPSE_S / 2)
    this.#blocks.set(block, found)
    this.#glimpses.delete(block)
    return found
  }

  /**
   * The segments from one second on and almost up to another: a change shortly after a segment repeats times that
   * lie in it, so the last piece ends where no change can lie that near without being known.
   */
  #segmentsBetween(from: number, until: number): readonly Segment[] {
    const probe = probeOf(this.name)
    const segments = findSegments(probe, Math.floor(from), Math.ceil(until), SAMPLE_S, this.#changeFinder)
    const last = segments.pop()!
    const endExclusive = last.endExclusive - Math.floor(GLIMPSE_S / 2)
    if (last.start < endExclusive) segments.push({ ...last, endExclusive, offsetAfter: last.offset })
    return segments
  }

  get #changeFinder(): ChangeFinder {
    return (this.#finder ??= new ChangeFinder((second, offset) => probeOf(this.name)(second) === offset))
  }

  /** A yearly rule depends on the year's length and first weekday only, so one year of each kind is probed. */
  #lookInLikeYear(second: number, inPassing: boolean): Segment {
    const year = yearOfSecond(second)
    const start = yearStart(year)
    const end = yearStart(year + 1)
    const shift = start - yearStart(likeYear(year))
    const like = this.segmentAt(second - shift, inPassing)
    const cutAtStart = like.start + shift <= start
    this.#recentFrom = Math.max(start, this.#recentFrom + shift)
    const cutAtEnd = like.endExclusive + shift >= end
    return {
      start: cutAtStart ? start : like.start + shift,
      endExclusive: cutAtEnd ? end : like.endExclusive + shift,
      offset: like.offset,
      offsetBefore: cutAtStart ? like.offset : like.offsetBefore,
      offsetAfter: cutAtEnd ? like.offset : like.offsetAfter,
    }
  }
}

/** A segment without a gap or overlap at either end. */
function lone(offset: number, start: number, endExclusive: number): Segment {
  return { start, endExclusive, offset, offsetBefore: offset, offsetAfter: offset }
}

function yearStart(year: number): number {
  return dayNumber(year, 1, 1) * DAY_S
}

function yearOfSecond(second: number): number {
  return yearOf(Math.floor(second / DAY_S))
}

const likeYears: number[] = []

/** The first year of the same length and first weekday from `FIRST_LIKE_YEAR` on. */
function likeYear(year: number): number {
  const kind = kindOf(year)
  const known = likeYears[kind]
  if (known !== undefined) return known
  let like = FIRST_LIKE_YEAR
  while (kindOf(like) !== kind) like++
  likeYears[kind] = like
  return like
}

function kindOf(year: number): number {
  return weekdayOf(dayNumber(year, 1, 1)) * 2 + (isLeapYear(year) ? 1 : 0)
}

const zones = new Map<string, Zone>()
const opened = new Map<string, IntlOffsets>()

/** The zone of an IANA name (`'Europe/Paris'`, aliases included), `'UTC'`, or a fixed `'+05:30'`. */
export function zoneOf(name: unknown): Zone {
  if (typeof name !== 'string' || name.length > LONGEST_NAME) throw refused(name)
  const known = zones.get(name)
  if (known !== undefined) return known
  const zone = fixedZone(name) ?? new Zone(properName(name))
  if (zones.size >= MOST_ZONES) zones.clear()
  zones.set(name, zone)
  return zone
}

/** The release of the tz database that Node carries, such as `'2025c'`. */
export function tzdataVersion(): string {
  return process.versions['tz'] ?? 'unknown'
}

// Read here and not by Intl, which accepts offsets only from Node 22 on: stored schedules must not depend on it.
function fixedZone(name: string): Zone | undefined {
  if (name.toUpperCase() === 'UTC') return new Zone('UTC', 0)
  const match = /^([+-])(\d\d):(\d\d)$/.exec(name)
  if (match === null) return undefined
  const hours = Number(match[2])
  const minutes = Number(match[3])
  if (hours > 23 || minutes > 59) throw refused(name)
  return new Zone(name, (match[1] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60))
}

function properName(name: string): string {
  if (/^[+-]/.test(name)) throw refused(name)
  let offsets: IntlOffsets
  try {
    offsets = new IntlOffsets(name)
  } catch (error) {
    throw refused(name, error)
  }
  // Only the case is mended: what an alias stands for differs between releases of the tz database.
  const proper = offsets.zone.toLowerCase() === name.toLowerCase() ? offsets.zone : name
  // What it took to find that is what `next` will ask.
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
  if (opened.size >= MOST_OPEN) opened.clear()
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
