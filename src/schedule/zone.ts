import process from 'node:process'
import { InvalidInputError, shown } from '../error/index.js'
import { findSegments, intlProbe, type OffsetProbe, type Segment } from './segment.js'

// 2^26 s, about two years: half a millisecond of probing when a zone is first asked about such a stretch.
const BLOCK_S = 67_108_864
const MOST_BLOCKS = 128
const MOST_ZONES = 512
const MOST_PROBES = 32
const LONGEST_NAME = 64

/**
 * A time zone as a table of segments. Intl answers in microseconds and only forwards, so every stretch is
 * probed once, when it is first needed, and kept; after that a look-up costs nanoseconds. The tables are
 * bounded and can be dropped at any time.
 */
export class Zone {
  readonly name: string
  readonly #blocks = new Map<number, readonly Segment[]>()
  #recent: Segment

  constructor(name: string, fixedOffset?: number) {
    this.name = name
    this.#recent =
      fixedOffset === undefined
        ? { start: 0, endExclusive: 0, offset: 0, offsetBefore: 0, offsetAfter: 0 }
        : {
            start: -Infinity,
            endExclusive: Infinity,
            offset: fixedOffset,
            offsetBefore: fixedOffset,
            offsetAfter: fixedOffset,
          }
  }

  /** The segment an epoch second lies in. */
  segmentAt(second: number): Segment {
    const recent = this.#recent
    if (second >= recent.start && second < recent.endExclusive) return recent
    const block = Math.floor(second / BLOCK_S)
    const segments = this.#blocks.get(block) ?? this.#find(block)
    let i = segments.length - 1
    while (segments[i]!.start > second) i--
    return (this.#recent = segments[i]!)
  }

  /** Where a local time lies: at one or more instants, or in the gap before a segment. */
  locate(local: number): { readonly instants: readonly number[]; readonly gapBefore: Segment | undefined } {
    const instants: number[] = []
    let gapBefore: Segment | undefined
    // No offset reaches a day and a half, and no gap or overlap is longer than one.
    let segment = this.segmentAt(local - 1.5 * 86_400)
    for (;;) {
      const instant = local - segment.offset
      if (instant >= segment.start && instant < segment.endExclusive) instants.push(instant)
      if (instant < segment.start && local - segment.offsetBefore >= segment.start) gapBefore = segment
      if (segment.endExclusive > local + 1.5 * 86_400) return { instants, gapBefore }
      segment = this.segmentAt(segment.endExclusive)
    }
  }

  #find(block: number): readonly Segment[] {
    if (this.#blocks.size >= MOST_BLOCKS) this.#blocks.clear()
    const segments = findSegments(probeOf(this.name), block * BLOCK_S, (block + 1) * BLOCK_S)
    this.#blocks.set(block, segments)
    return segments
  }
}

const zones = new Map<string, Zone>()
const probes = new Map<string, OffsetProbe>()

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
  let resolved: string
  try {
    resolved = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  } catch (error) {
    throw refused(name, error)
  }
  // Only the case is mended: what an alias stands for differs between releases of the tz database.
  return resolved.toLowerCase() === name.toLowerCase() ? resolved : name
}

function probeOf(name: string): OffsetProbe {
  let probe = probes.get(name)
  if (probe === undefined) {
    if (probes.size >= MOST_PROBES) probes.clear()
    probe = intlProbe(name)
    probes.set(name, probe)
  }
  return probe
}

function refused(name: unknown, cause?: unknown): InvalidInputError {
  return new InvalidInputError(
    'invalid-zone',
    `cannot find the time zone ${shown(name)}: give an IANA name such as 'Europe/Paris', 'UTC', or an offset ` +
      `such as '+05:30' (tz database ${tzdataVersion()})`,
    { cause },
  )
}
