import { InvalidInputError, shown } from '../../error/index.js'
import { civilDate, DAY_S, dayNumber, monthIndex, monthLength } from '../calendar/calendar.js'
import { FIRST_INSTANT, LAST_INSTANT } from '../horizon.js'
import type { Zone } from './zone.js'

/**
 * Reads and writes local times, dates and offsets, strictly as ISO 8601. Whatever it writes, it reads back
 * unchanged. It refuses a date such as February 30 instead of rolling it over.
 */

/** `'09:00'`, or `'09:00:30'` when there are seconds. */
export function formatTime(secondOfDay: number): string {
  const text = `${two(Math.floor(secondOfDay / 3600))}:${two(Math.floor(secondOfDay / 60) % 60)}`
  const second = secondOfDay % 60
  return second === 0 ? text : `${text}:${two(second)}`
}

/** `'09:00:00'`. */
export function formatClock(secondOfDay: number): string {
  const minute = Math.floor(secondOfDay / 60)
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}:${two(secondOfDay % 60)}`
}

export function formatDate(year: number, month: number, day: number): string {
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
}

export function formatDay(day: number): string {
  const date = civilDate(day)
  return formatDate(date.year, date.month, date.day)
}

/** `'2027-03-14T03:00:00'`. */
export function formatLocal(local: number): string {
  const day = Math.floor(local / DAY_S)
  const second = local - day * DAY_S
  return `${formatDay(day)}T${formatClock(second)}`
}

/** `'-04:00'`. Offsets of the 19th century may have seconds as well. */
export function formatOffset(offset: number): string {
  return `${offset < 0 ? '-' : '+'}${formatTime(Math.abs(offset))}`
}

const TIME = /^(\d\d):(\d\d)(?::(\d\d))?$/

/** Returns the seconds after midnight for `'09:00'` or `'09:00:30'`. */
export function parseTime(text: unknown): number {
  const match = typeof text === 'string' && text.length <= 8 ? TIME.exec(text) : null
  const [hour, minute, second] = [Number(match?.[1]), Number(match?.[2]), Number(match?.[3] ?? 0)]
  if (match === null || hour > 23 || minute > 59 || second > 59) {
    throw new InvalidInputError(
      'invalid-time',
      `cannot read ${shown(text)} as a time of day: write '09:00' or '09:00:30', from '00:00' to '23:59:59'`,
    )
  }
  return hour * 3600 + minute * 60 + second
}

const LOCAL = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(\.\d{1,3})?)?)?(Z|[+-]\d\d:\d\d)?$/

/** Returns the local seconds of `'2027-01-04'` or `'2027-01-04T09:00'`, or undefined for any other string. */
export function parseLocal(text: string): number | undefined {
  const match = LOCAL.exec(text)
  if (match === null || match[7] !== undefined || match[8] !== undefined) return undefined
  return fieldsToLocal(match.slice(1, 7))
}

/**
 * Returns the local seconds of year, month, day and perhaps hour, minute, second. Returns undefined if there
 * is no such date or time.
 */
export function fieldsToLocal(fields: readonly (string | undefined)[]): number | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = fields.map((field) =>
    field === undefined ? 0 : Number(field),
  )
  if (month < 1 || month > 12 || day < 1 || day > monthLength(monthIndex(year, month))) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  return dayNumber(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second
}

/**
 * Reads an instant as epoch milliseconds. A string with an offset is exact. A string without one is a local
 * time of the zone: if it comes twice, the earlier instant; in a gap, the same distance after the gap.
 */
export function parseInstant(what: string, value: unknown, zone: Zone): number {
  const instant =
    typeof value === 'number' && Number.isInteger(value)
      ? value
      : typeof value === 'string' && value.length <= 40
        ? parseTextInstant(value, zone)
        : Number.NaN
  if (instant >= FIRST_INSTANT && instant <= LAST_INSTANT) return instant
  throw new InvalidInputError(
    'invalid-instant',
    `cannot read ${what} ${shown(value)} as an instant of the years 1 to 9999: give integer epoch milliseconds, '2027-01-04T09:00' on the ` +
      `clocks of ${zone.name}, or '2027-01-04T09:00Z'`,
  )
}

function parseTextInstant(text: string, zone: Zone): number {
  const match = LOCAL.exec(text)
  if (match === null) return Number.NaN
  const local = fieldsToLocal(match.slice(1, 7))
  if (local === undefined) return Number.NaN
  const milliseconds = Math.round(Number(match[7] ?? 0) * 1000)
  const offset = match[8]
  if (offset === undefined) return instantOf(local, zone) * 1000 + milliseconds
  return (local - (offset === 'Z' ? 0 : offsetSeconds(offset))) * 1000 + milliseconds
}

function offsetSeconds(offset: string): number {
  const [hours, minutes] = offset.slice(1).split(':').map(Number)
  if (hours! > 23 || minutes! > 59) return Number.NaN
  return (offset.startsWith('-') ? -1 : 1) * (hours! * 3600 + minutes! * 60)
}

/**
 * Returns the epoch second of a local time. If it comes twice, this is the earlier instant. In a gap, it is
 * as far after the gap's start as the local time is.
 */
export function instantOf(local: number, zone: Zone): number {
  const { instants, gapBefore } = zone.locate(local)
  return instants[0] ?? local - gapBefore!.offsetBefore
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
