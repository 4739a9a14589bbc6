import { checkOptions, InvalidInputError, shown } from '../../error/index.js'
import { AmendedRule } from '../amend/amended-rule.js'
import { type AmendmentOption, type Amendments, amendmentsJson, readAmendments } from '../amend/amendments.js'
import { DAY_S } from '../calendar/calendar.js'
import { readLines, type RruleLines } from './rrule-lines.js'
import { followsElapsedTime, rrulePattern } from './rrule-pattern.js'
import { readBasicTime, readRrule, rruleError } from './rrule-text.js'
import { amendmentWords, rruleWords } from './rrule-words.js'
import type { Rule } from '../rule.js'
import { Schedule } from '../schedule.js'
import { readTerms, termOptionNames, type TermOptions } from '../terms.js'
import { WallClock } from '../zone/wall-clock.js'
import {
  type WallSettings,
  readWallOptions,
  wallJson,
  wallOptionNames,
  type WallOptions,
  WallRule,
} from '../wall-rule.js'
import { formatLocal, instantOf, parseLocal } from '../zone/wall-text.js'
import { ListedLocalTimes } from '../amend/except-pattern.js'
import type { Zone } from '../zone/zone.js'

/** The options of `rrule`. */
export interface RruleOptions extends WallOptions, TermOptions {
  /**
   * The local time at which the rule starts: `'2027-01-04T09:00'`. Omit it if the text has a DTSTART line.
   */
  readonly start?: string
  /**
   * Occurrences to leave out, as EXDATE: a local date `'2027-01-04'` with everything on it, a local time
   * `'2027-01-04T09:00'`, or an instant as epoch milliseconds or a string with an offset. COUNT includes
   * them.
   */
  readonly except?: AmendmentOption
  /** Occurrences to add, as RDATE. A date alone takes the time of the start. COUNT does not include them. */
  readonly also?: AmendmentOption
}

/**
 * Makes a schedule from an RFC 5545 recurrence rule: `'FREQ=MONTHLY;BYDAY=-1FR'` with `start`, or the RRULE,
 * DTSTART, EXDATE and RDATE lines of a calendar file. Dates that do not exist are skipped, as the RFC
 * requires. For the RFC's reading of missing times, choose `gap: 'shift'`. Rules of hours, minutes and
 * seconds without BYHOUR follow elapsed time.
 *
 * @example
 * ```ts
 * rrule('FREQ=MONTHLY;BYDAY=-1FR', { start: '2027-01-01T09:00', zone: 'Europe/Berlin' })
 * ```
 */
export function rrule(text: string, options: RruleOptions = {}): Schedule {
  checkOptions('rrule', options, ['start', 'except', 'also', ...wallOptionNames, ...termOptionNames])
  const lines = readLines(text, options.zone)
  const wall = readRruleWall(lines, options)
  const start = readStart(lines, options)
  const parts = readRrule(lines.rule)
  const pattern = rrulePattern(parts, start)
  if (pattern.firstFrom(start) === Infinity) {
    throw new InvalidInputError(
      'never-matches',
      `the recurrence rule ${shown(parts.text)} never matches: no date satisfies all its parts`,
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
      pattern,
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
      followsElapsedTime: followsElapsedTime(parts),
      from: startInstantOf(start, wall.zone) * 1000,
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
      'times cannot be combined with `also`: give COUNT in the rule instead',
    )
  }
  return new Schedule(rule, readTerms(options, wall.zone, rule.startsAt))
}

/** A date alone takes the time of the start. */
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

/** Exceptions apply to additions, too. */
function amended(rule: WallRule, except: Amendments, also: Amendments, wall: WallSettings): Rule {
  if (except.instants.length + also.times.length + also.instants.length === 0) return rule
  const left = (local: number) =>
    except.times.includes(local) || except.days.includes(Math.floor(local / DAY_S))
  const offsetAt = (instant: number) => wall.zone.segmentAt(Math.floor(instant / 1000)).offset
  const times = also.times.filter((local) => !left(local))
  return new AmendedRule(rule, {
    removed: except.instants,
    added:
      times.length > 0
        ? new WallClock(new ListedLocalTimes(times), wall.zone, wall.gap, wall.overlap)
        : undefined,
    addedInstants: also.instants.filter((instant) => !left(instant / 1000 + offsetAt(instant))),
  })
}

function readRruleWall(lines: RruleLines, options: RruleOptions): WallSettings {
  if (lines.zone !== undefined && options.zone !== undefined && lines.zone !== options.zone) {
    throw rruleError(
      lines.rule,
      `DTSTART has the zone ${lines.zone}, the zone option is ${options.zone}: give only one`,
    )
  }
  const zone = lines.zone ?? options.zone
  return readWallOptions({ ...options, ...(zone !== undefined && { zone }) })
}

function readStart(lines: RruleLines, options: RruleOptions): number {
  if ((lines.start === undefined) === (options.start === undefined)) {
    throw rruleError(lines.rule, "give its start exactly once: start: '2027-01-04T09:00', or a DTSTART line")
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
    "write a start as a local time: '2027-01-04T09:00', or DTSTART:20270104T090000",
  )
}

/** A start inside a gap may fire as soon as the gap ends. */
function startInstantOf(local: number, zone: Zone): number {
  const { instants, gapBefore } = zone.locate(local)
  return instants[0] ?? gapBefore!.start
}

function lastInstantOf(local: number, zone: Zone): number {
  return zone.locate(local).instants.at(-1) ?? instantOf(local, zone)
}
