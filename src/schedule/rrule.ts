import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { AmendedRule } from './amended-rule.js'
import { type AmendmentOption, type Amendments, amendmentsJson, readAmendments } from './amendments.js'
import { DAY_S } from './calendar.js'
import { readLines, type RruleLines } from './rrule-lines.js'
import { isRunning, rrulePattern } from './rrule-pattern.js'
import { readBasicTime, readRrule, rruleError } from './rrule-text.js'
import { amendmentWords, rruleWords } from './rrule-words.js'
import type { Rule } from './rule.js'
import { Schedule } from './schedule.js'
import { readTerms, termNames, type TermOptions } from './terms.js'
import { WallClock } from './wall-clock.js'
import { type Wall, readWall, wallJson, wallNames, type WallOptions, WallRule } from './wall-rule.js'
import { formatLocal, instantOf, parseLocal } from './wall-text.js'
import { ListedLocals } from './without.js'
import type { Zone } from './zone.js'

export interface RruleOptions extends WallOptions, TermOptions {
  /** The local time the rule starts at, `'2027-01-04T09:00'`, unless the text has a DTSTART line. */
  readonly start?: string
  /**
   * What the rule names and does not occur, as EXDATE: a local date `'2027-01-04'` with all that is on it, a local
   * time `'2027-01-04T09:00'`, or an instant as epoch milliseconds or text with an offset. COUNT counts it.
   */
  readonly except?: AmendmentOption
  /** What occurs beside it, as RDATE; a date alone is meant at the time of the start. COUNT does not count it. */
  readonly also?: AmendmentOption
}

/**
 * A schedule from an RFC 5545 recurrence rule: `'FREQ=MONTHLY;BYDAY=-1FR'` with `start`, or the RRULE, DTSTART,
 * EXDATE and RDATE lines of a calendar file. Dates that do not exist are left out, as the RFC asks; for its reading of
 * daylight saving choose `gap: 'shift'`. Hours, minutes and seconds without BYHOUR follow time as it passes.
 */
export function rrule(text: string, options: RruleOptions = {}): Schedule {
  checkOptions('rrule', options, ['start', 'except', 'also', ...wallNames, ...termNames])
  const lines = readLines(text, options.zone)
  const wall = readRruleWall(lines, options)
  const start = readStart(lines, options)
  const parts = readRrule(lines.rule)
  const named = rrulePattern(parts, start)
  if (named.firstFrom(start) === Infinity) {
    throw new InvalidInputError(
      'never-matches',
      `the recurrence rule ${shown(parts.text)} never matches: its parts do not meet on any date`,
    )
  }
  const except = readAmendments('except', withLines(options.except, lines.except), wall.zone)
  const also = readAlso(withLines(options.also, lines.also), start, wall.zone)
  const { until } = parts
  const lastSecond =
    until === undefined || until.isUtc ? until?.second : lastInstantOf(until.second, wall.zone)
  const exceptJson = amendmentsJson(except)
  const alsoJson = amendmentsJson(also)
  const rule = amended(
    new WallRule({
      pattern: named,
      ...(except.times.length + except.days.length > 0 && { except }),
      wall,
      json: {
        type: 'rrule',
        rule: parts.text,
        start: formatLocal(start),
        ...(exceptJson && { except: exceptJson }),
        ...(alsoJson && { also: alsoJson }),
        ...wallJson(wall),
      },
      words: `${rruleWords(parts)} from ${formatLocal(start).slice(0, 16)} on${amendmentWords(exceptJson, alsoJson)}`,
      running: isRunning(parts),
      from: firstInstantOf(start, wall.zone) * 1000,
      ...(lastSecond !== undefined && { untilInclusive: lastSecond * 1000 }),
      ...(parts.count !== undefined && { count: parts.count }),
    }),
    except,
    also,
    wall,
  )
  if (alsoJson !== undefined && options.times !== undefined) {
    throw new InvalidInputError(
      'invalid-option',
      'times counts what the rule names and `also` adds to it: give COUNT in the rule instead of times',
    )
  }
  return new Schedule(rule, readTerms(options, wall.zone, rule.from))
}

/** A date alone is meant at the time of the start. */
function readAlso(option: AmendmentOption | undefined, start: number, zone: Zone): Amendments {
  const { times, days, instants } = readAmendments('also', option, zone)
  const time = start - Math.floor(start / DAY_S) * DAY_S
  const all = new Set([...times, ...days.map((day) => day * DAY_S + time)])
  return { times: [...all].sort((a, b) => a - b), days: [], instants }
}

function withLines(
  option: AmendmentOption | undefined,
  lines: readonly string[],
): AmendmentOption | undefined {
  if (lines.length === 0) return option
  return option === undefined ? lines : [...(Array.isArray(option) ? option : [option]), ...lines]
}

/** What is left out is left out of what is added, too. */
function amended(rule: WallRule, except: Amendments, also: Amendments, wall: Wall): Rule {
  if (except.instants.length + also.times.length + also.instants.length === 0) return rule
  const left = (local: number) =>
    except.times.includes(local) || except.days.includes(Math.floor(local / DAY_S))
  const offsetAt = (instant: number) => wall.zone.segmentAt(Math.floor(instant / 1000)).offset
  const times = also.times.filter((local) => !left(local))
  return new AmendedRule(rule, {
    removed: except.instants,
    added:
      times.length > 0
        ? new WallClock(new ListedLocals(times), wall.zone, wall.gap, wall.overlap)
        : undefined,
    addedInstants: also.instants.filter((instant) => !left(instant / 1000 + offsetAt(instant))),
  })
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
