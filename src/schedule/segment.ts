import { DAY_S, modulo } from './calendar.js'
import { ChangeFinder } from './change-finder.js'
import { formatClock } from './wall-text.js'

/**
 * A stretch of time during which a zone keeps one offset, in whole epoch seconds. Where the offset grows at
 * its start a piece of local time is missing (a gap); where it shrinks, a piece comes twice (an overlap).
 */
export interface Segment {
  readonly start: number
  readonly endExclusive: number
  /** Seconds that local time is ahead of UTC. */
  readonly offset: number
  readonly offsetBefore: number
  readonly offsetAfter: number
}

/** The offset of a zone at an epoch second, as slow as it may be. */
export type OffsetProbe = (second: number) => number

// The shortest time any zone kept an offset is 6.96 days (Brazil in October 2000, Gaza from 2040 on), so two
// changes never hide between two samples.
export const SAMPLE_S = 6 * DAY_S

/**
 * The segments between two instants, in order; the outermost are cut off there. None that is shorter than `stride`
 * may come and go between them.
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

/** The function is bound: it may be called by itself. */
interface Formatter {
  readonly format: (ms: number) => string
  resolvedOptions(): { readonly timeZone: string }
}

/** Reads offsets off `Intl`, the only source of zone rules. Throws a RangeError for a zone it does not know. */
export class IntlOffsets {
  /** The zone's name, as Intl has it. */
  readonly zone: string
  readonly #format: (ms: number) => string
  readonly #texts = new Map<number, string>()

  constructor(zone: string) {
    const formatter: Formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    this.zone = formatter.resolvedOptions().timeZone
    // Read once: every reading of this property takes a call.
    this.#format = formatter.format
  }

  /** The offset at an epoch second. */
  at(second: number): number {
    return read(this.#format(second * 1000), second)
  }

  /** The same if it is known what it is likely to be; if it differs from that by whole days, that. */
  atLikely(second: number, likely: number): number {
    const text = this.#format(second * 1000)
    return text.endsWith(this.#textOf(second, likely)) ? likely : read(text, second)
  }

  /**
   * Whether clocks show an offset, or one that differs from it by whole days. Most questions are about a few times of
   * day, whose texts are kept: in a new process that takes a fraction of reading what clocks show.
   */
  keeps(second: number, offset: number): boolean {
    return this.#format(second * 1000).endsWith(this.#textOf(second, offset))
  }

  #textOf(second: number, offset: number): string {
    const time = modulo(second + offset, DAY_S)
    let text = this.#texts.get(time)
    if (text === undefined) {
      if (this.#texts.size >= MOST_TEXTS) this.#texts.clear()
      text = formatClock(time)
      this.#texts.set(time, text)
    }
    return text
  }

  /** Whether clocks show a time such as '09:00:30': that is compared faster than read. */
  shows(second: number, time: string): boolean {
    return this.#format(second * 1000).endsWith(time)
  }

  /** Whether they show it on that day of the month. */
  showsOn(second: number, day: number, time: string): boolean {
    return this.#format(second * 1000) === `${day}, ${time}`
  }
}

/** The offset at an epoch second at which clocks show a text. */
function read(text: string, second: number): number {
  const length = text.length
  // '4, 09:00:30' or '14, 09:00:30', read without a loop: most of these questions come before any code is compiled.
  const isAsExpected =
    ((text.charCodeAt(length - 3) ^ COLON) |
      (text.charCodeAt(length - 6) ^ COLON) |
      (text.charCodeAt(length - 10) ^ COMMA)) ===
    0
  // There is no character before the first: that is NaN, and 0 in the end.
  const tens = ((text.charCodeAt(length - 12) - ZERO) * 10) | 0
  const day = tens + text.charCodeAt(length - 11) - ZERO
  const hour = text.charCodeAt(length - 8) * 10 + text.charCodeAt(length - 7) - ZEROS
  const minute = text.charCodeAt(length - 5) * 10 + text.charCodeAt(length - 4) - ZEROS
  const time =
    hour * 3600 + minute * 60 + text.charCodeAt(length - 2) * 10 + text.charCodeAt(length - 1) - ZEROS
  // Not negative if each is within its bounds.
  const within = Math.min((day - 1) * (31 - day), time * (DAY_S - 1 - time), 12 - length)
  if (!(isAsExpected && within >= 0)) {
    throw new Error(`Intl wrote ${text}, expected day, hour:minute:second`)
  }
  // The day of the month tells yesterday, today and tomorrow apart without a year or an era.
  let days = day - new Date(second * 1000).getUTCDate()
  if (Math.abs(days) > 1) days = -Math.sign(days)
  return days * DAY_S + time - (second - Math.floor(second / DAY_S) * DAY_S)
}

const MOST_TEXTS = 256

const ZERO = 48
const ZEROS = ZERO * 11
const COLON = 58
const COMMA = 44
