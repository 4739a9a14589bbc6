import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { checkLength } from './choice.js'
import { limits } from './defaults.js'
import { isRunning, rrulePattern } from './rrule-pattern.js'
import { readBasicTime, readRrule, rruleError } from './rrule-text.js'
import { rruleWords } from './rrule-words.js'
import { Schedule } from './schedule.js'
import { readTerms, termNames, type TermOptions } from './terms.js'
import { type Wall, readWall, wallJson, wallNames, type WallOptions, WallRule } from './wall-rule.js'
import { formatLocal, instantOf, parseLocal } from './wall-text.js'
import type { Zone } from './zone.js'

export interface RruleOptions extends WallOptions, TermOptions {
  /** The local time the rule starts at, `'2027-01-04T09:00'`, unless the text has a DTSTART line. */
  readonly start?: string
}

/**
 * A schedule from an RFC 5545 recurrence rule: `'FREQ=MONTHLY;BYDAY=-1FR'` with `start`, or the RRULE and
 * DTSTART lines of a calendar file. Dates that do not exist are left out, as the RFC asks; for its reading of
 * daylight saving choose `gap: 'shift'`. Hours, minutes and seconds without BYHOUR follow time as it passes.
 */
export function rrule(text: string, options: RruleOptions = {}): Schedule {
  checkOptions('rrule', options, ['start', ...wallNames, ...termNames])
  const lines = readLines(text)
  const wall = readRruleWall(lines, options)
  const start = readStart(lines, options)
  const parts = readRrule(lines.rule)
  const pattern = rrulePattern(parts, start)
  if (pattern.firstFrom(start) === Infinity) {
    throw new InvalidInputError(
      'never-matches',
      `the recurrence rule ${shown(parts.text)} never matches: its parts do not meet on any date`,
    )
  }
  const { until } = parts
  const lastSecond =
    until === undefined || until.isUtc ? until?.second : lastInstantOf(until.second, wall.zone)
  const rule = new WallRule({
    pattern,
    wall,
    json: { type: 'rrule', rule: parts.text, start: formatLocal(start), ...wallJson(wall) },
    words: `${rruleWords(parts)} from ${formatLocal(start).slice(0, 16)} on`,
    running: isRunning(parts),
    from: firstInstantOf(start, wall.zone) * 1000,
    ...(lastSecond !== undefined && { untilInclusive: lastSecond * 1000 }),
    ...(parts.count !== undefined && { count: parts.count }),
  })
  return new Schedule(rule, readTerms(options, wall.zone, rule.from))
}

interface RruleLines {
  readonly rule: string
  readonly start: string | undefined
  readonly zone: string | undefined
}

const DTSTART = /^DTSTART(?:;VALUE=DATE(?:-TIME)?)?(?:;TZID=([^:;]+))?(?:;VALUE=DATE(?:-TIME)?)?:(.+)$/

function readLines(text: unknown): RruleLines {
  if (typeof text !== 'string') {
    throw new InvalidInputError('invalid-rrule', `a recurrence rule is a text, got ${shown(text)}`)
  }
  checkLength('a recurrence rule', text, limits.rruleLength)
  let rule: string | undefined
  let start: string | undefined
  let zone: string | undefined
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim()
    if (trimmed === '') continue
    const match = DTSTART.exec(trimmed)
    if (match !== null && start === undefined) [, zone, start] = match
    else if (rule === undefined && /^(?:RRULE:)?[A-Z]+=/.test(trimmed)) rule = trimmed.replace(/^RRULE:/, '')
    else throw rruleError(trimmed, 'it takes one RRULE line and at most one DTSTART line')
  }
  if (rule === undefined) throw rruleError(text, "write it as 'FREQ=WEEKLY;BYDAY=MO'")
  if (start?.endsWith('Z')) zone ??= 'UTC'
  return { rule, start, zone }
}

function readRruleWall(lines: RruleLines, options: RruleOptions): Wall {
  if (lines.zone !== undefined && options.zone !== undefined && lines.zone !== options.zone) {
    throw rruleError(lines.rule, `DTSTART says ${lines.zone} and the zone option ${options.zone}: give one`)
  }
  const zone = lines.zone ?? options.zone
  return readWall({ ...options, ...(zone !== undefined && { zone }) })
}

function readStart(lines: RruleLines, options: RruleOptions): number {
  if ((lines.start === undefined) === (options.start === undefined)) {
    throw rruleError(
      lines.rule,
      "give its first local time once: start: '2027-01-04T09:00', or a DTSTART line",
    )
  }
  const start =
    lines.start === undefined
      ? typeof options.start === 'string'
        ? parseLocal(options.start)
        : undefined
      : readBasicTime(lines.start)?.second
  if (start !== undefined) return start
  throw rruleError(
    String(lines.start ?? options.start),
    "a start is a local time such as '2027-01-04T09:00', in DTSTART 20270104T090000",
  )
}

/** A start that does not exist may still fire as soon as its gap is over. */
function firstInstantOf(local: number, zone: Zone): number {
  const { instants, gapBefore } = zone.locate(local)
  return instants[0] ?? gapBefore!.start
}

function lastInstantOf(local: number, zone: Zone): number {
  return zone.locate(local).instants.at(-1) ?? instantOf(local, zone)
}
