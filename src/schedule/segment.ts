import { civilDate, DAY_S, modulo } from './calendar.js'

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
const SAMPLE_S = 6 * DAY_S

const QUARTER_S = 900

/** The segments between two instants, in order; the outermost are cut off there. */
export function findSegments(probe: OffsetProbe, from: number, untilExclusive: number): Segment[] {
  const offsetBefore = probe(from - 1)
  const starts = [from]
  const offsets = [offsetBefore]
  let last = from - 1
  let offset = offsetBefore
  while (last < untilExclusive) {
    const sample = Math.min(last + SAMPLE_S, untilExclusive)
    const offsetThere = probe(sample)
    if (offsetThere !== offset) {
      const change = findChange(probe, last, sample, offset)
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

/** The first second after `before`, and not after `after`, at which the offset is no longer `offset`. */
function findChange(probe: OffsetProbe, before: number, after: number, offset: number): number {
  // Clocks change on the quarter of an hour nearly everywhere: half the probes suffice to find those.
  let low = Math.floor(before / QUARTER_S)
  let high = Math.ceil(after / QUARTER_S)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (probe(middle * QUARTER_S) === offset) low = middle
    else high = middle
  }
  let same = Math.max(low * QUARTER_S, before)
  let changed = Math.min(high * QUARTER_S, after)
  if (probe(changed - 1) === offset) return changed
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2)
    if (probe(middle) === offset) same = middle
    else changed = middle
  }
  return changed
}

/** Reads offsets off `Intl`, the only source of zone rules. Throws a RangeError for a zone it does not know. */
export function intlProbe(zone: string): OffsetProbe {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  // Filled anew by every probe: there are thousands of them, and each would leave garbage.
  const fields = new Int32Array(4)
  return (second) => {
    const text = format.format(second * 1000)
    if (!readFields(text, fields)) throw new Error(`Intl wrote ${text}, expected day, hour:minute:second`)
    const utcDay = Math.floor(second / DAY_S)
    const localTime = fields[1]! * 3600 + fields[2]! * 60 + fields[3]!
    return dayShift(utcDay, fields[0]!) * DAY_S + localTime - modulo(second, DAY_S)
  }
}

const ZERO = 48
const COLON = 58

/** Reads `'14, 09:00:30'` into day, hour, minute and second; false for any other text. */
function readFields(text: string, fields: Int32Array): boolean {
  let field = 0
  fields.fill(0)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code >= ZERO && code < COLON) fields[field] = fields[field]! * 10 + code - ZERO
    else if (code === COLON && field > 0) field++
    else if (field === 0 && text.startsWith(', ', i)) {
      field = 1
      i++
    } else return false
  }
  return field === 3
}

/** The day of the month tells yesterday, today and tomorrow apart without a year or an era. */
function dayShift(utcDay: number, localDayOfMonth: number): number {
  if (civilDate(utcDay).day === localDayOfMonth) return 0
  return civilDate(utcDay + 1).day === localDayOfMonth ? 1 : -1
}
