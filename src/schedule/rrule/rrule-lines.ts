import { InvalidInputError, shown } from '../../error/index.js'
import { checkLength } from '../option-checks.js'
import { defaults, limits } from '../defaults.js'
import { readBasicTime, rruleError } from './rrule-text.js'
import { formatDay, formatLocal, instantOf } from '../zone/wall-text.js'
import { DAY_S } from '../calendar/calendar.js'
import { type Zone, zoneOf } from '../zone/zone.js'

/**
 * The lines of a calendar file that define a recurrence: one rule, its start, its exceptions and its
 * additions.
 */
export interface RruleLines {
  readonly rule: string
  /** The value of DTSTART as written. */
  readonly start: string | undefined
  readonly zone: string | undefined
  /** EXDATE and RDATE, translated to the format of the options `except` and `also`. */
  readonly except: readonly string[]
  readonly also: readonly string[]
}

interface Property {
  readonly name: string
  readonly zone: string | undefined
  readonly isDate: boolean
  readonly value: string
}

const PROPERTY = /^(DTSTART|EXDATE|RDATE)((?:;[A-Z-]+=[^:;]+)*):(.+)$/

/**
 * Reads an RRULE, alone or with its DTSTART, EXDATE and RDATE lines. Long lines may be folded. `givenZone` is
 * the rule's zone unless DTSTART has one.
 */
export function readLines(text: unknown, givenZone: string | undefined): RruleLines {
  if (typeof text !== 'string') {
    throw new InvalidInputError('invalid-rrule', `a recurrence rule must be a string, got ${shown(text)}`)
  }
  checkLength('a recurrence rule with its lines', text, limits.rruleLinesLength)
  let rule: string | undefined
  let start: Property | undefined
  const amendments: Property[] = []
  for (const line of unfolded(text)) {
    const property = readProperty(line)
    if (property === undefined) {
      if (rule !== undefined || !/^(?:RRULE:)?[A-Z]+=/.test(line)) throw refused(line)
      rule = line.replace(/^RRULE:/, '')
      checkLength('a recurrence rule', rule, limits.rruleLength)
    } else if (property.name === 'DTSTART') {
      if (start !== undefined) throw refused(line)
      start = property
    } else amendments.push(property)
  }
  if (rule === undefined) throw rruleError(text, "write it as 'FREQ=WEEKLY;BYDAY=MO'")
  const zone = start?.zone ?? (start?.value.endsWith('Z') ? 'UTC' : undefined)
  const ruleZone = zoneOf(zone ?? givenZone ?? defaults.zone)
  const textsOf = (name: string) =>
    amendments
      .filter((property) => property.name === name)
      .flatMap((property) => readTimes(property, ruleZone))
  return { rule, start: start?.value, zone, except: textsOf('EXDATE'), also: textsOf('RDATE') }
}

const OWN_LINE = /^\s*(?:RRULE|DTSTART|EXDATE|RDATE|FREQ)\b/

/** A line that begins with a space continues the line before it, unless it is an indented line of its own. */
function unfolded(text: string): string[] {
  const lines: string[] = []
  for (const line of text.split(/\r?\n/)) {
    const isContinued = lines.length > 0 && /^[ \t]/.test(line) && !OWN_LINE.test(line)
    if (isContinued) lines[lines.length - 1] += line.slice(1)
    else lines.push(line)
  }
  return lines.map((line) => line.trim()).filter((line) => line !== '')
}

function readProperty(line: string): Property | undefined {
  const match = PROPERTY.exec(line)
  if (match === null) return undefined
  let zone: string | undefined
  let type: string | undefined
  for (const parameter of match[2]!.split(';').slice(1)) {
    const [name, value] = parameter.split('=')
    if (name === 'TZID' && zone === undefined) zone = value
    else if (name === 'VALUE' && type === undefined) type = value
    else throw rruleError(line, 'only TZID and VALUE are allowed, each once')
  }
  if (type !== undefined && type !== 'DATE' && type !== 'DATE-TIME') {
    throw rruleError(line, 'only VALUE=DATE and VALUE=DATE-TIME are supported')
  }
  return { name: match[1]!, zone, isDate: type === 'DATE', value: match[3]! }
}

/** Reads the times of an EXDATE or RDATE line. Times in another zone than the rule's become instants. */
function readTimes({ name, zone, isDate, value }: Property, ruleZone: Zone): string[] {
  return value.split(',').map((text) => {
    const read = readBasicTime(text)
    if (read === undefined || (isDate && !read.isDate)) {
      throw rruleError(
        `${name}:${text}`,
        'write it as 20270104T090000, 20270104T090000Z or, with VALUE=DATE, 20270104',
      )
    }
    if (read.isDate) return formatDay(read.second / DAY_S)
    if (read.isUtc) return `${formatLocal(read.second)}Z`
    const lineZone = zone === undefined ? ruleZone : zoneOf(zone)
    if (lineZone.name === ruleZone.name) return formatLocal(read.second)
    return `${formatLocal(instantOf(read.second, lineZone))}Z`
  })
}

function refused(line: string): InvalidInputError {
  return rruleError(
    line,
    'expected one RRULE line, at most one DTSTART line, and any number of EXDATE and RDATE lines',
  )
}
