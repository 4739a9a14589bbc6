import { InvalidInputError, shown } from '../error/index.js'
import { cron, type CronOptions } from './cron.js'
import { daily } from './daily.js'
import { every, type EveryOptions } from './every.js'
import { monthly, type MonthlyOptions } from './monthly.js'
import { rrule, type RruleOptions } from './rrule.js'
import type { Schedule } from './schedule.js'
import { weekly, type WeeklyOptions } from './weekly.js'
import { yearly, type YearlyOptions } from './yearly.js'

const LONGEST_TEXT = 16_384

type Stored = Readonly<Record<string, unknown>>

// The builders refuse what they do not know or cannot accept, so a stored form is read by calling them again.
const builders: Readonly<Record<string, (stored: Stored) => Schedule>> = Object.freeze({
  cron: ({ expression, ...options }) => cron(expression as string, options as CronOptions),
  every: ({ everyMs, ...options }) => every(everyMs as number, options as EveryOptions),
  daily: (options) => daily(options),
  weekly: (options) => weekly(options as unknown as WeeklyOptions),
  monthly: (options) => monthly(options as unknown as MonthlyOptions),
  yearly: (options) => yearly(options as unknown as YearlyOptions),
  rrule: ({ rule, ...options }) => rrule(rule as string, options as RruleOptions),
})

/** Restores a schedule from what `JSON.stringify` wrote, as text or already parsed. */
export function parseSchedule(json: unknown): Schedule {
  const { version, type, jitterMs, windowMs, ...rest } = readObject(json)
  if (version !== 1) {
    throw refused(`it has the version ${shown(version)}, this Carillon reads 1`)
  }
  const build = typeof type === 'string' && Object.hasOwn(builders, type) ? builders[type] : undefined
  if (build === undefined) {
    throw refused(`its type is ${shown(type)}, known are ${Object.keys(builders).join(', ')}`)
  }
  return build({
    ...rest,
    ...(jitterMs !== undefined && { jitter: jitterMs }),
    ...(windowMs !== undefined && { window: windowMs }),
  })
}

function readObject(json: unknown): Stored {
  const value = typeof json === 'string' ? parseText(json) : json
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw refused(`wanted an object, got ${shown(value)}`)
}

function parseText(text: string): unknown {
  if (text.length > LONGEST_TEXT)
    throw refused(`it has ${text.length} characters, at most ${LONGEST_TEXT} are read`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused('it is not JSON', error)
  }
}

function refused(why: string, cause?: unknown): InvalidInputError {
  return new InvalidInputError('invalid-schedule', `cannot read a stored schedule: ${why}`, { cause })
}
