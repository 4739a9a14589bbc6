import { InvalidInputError, shown } from '../error/index.js'
import { cron, type CronOptions } from './cron/cron.js'
import { daily } from './builders/daily.js'
import { limits } from './defaults.js'
import { every, type EveryOptions } from './builders/every.js'
import { monthly, type MonthlyOptions } from './builders/monthly.js'
import { rrule, type RruleOptions } from './rrule/rrule.js'
import type { RuleJson } from './schedule-json.js'
import type { Schedule } from './schedule.js'
import { weekly, type WeeklyOptions } from './builders/weekly.js'
import { yearly, type YearlyOptions } from './builders/yearly.js'

type Stored = Readonly<Record<string, unknown>>

// A stored schedule is restored by its builder, which checks every value again.
const builders: Readonly<Record<RuleJson['type'], (stored: Stored) => Schedule>> = Object.freeze({
  cron: ({ expression, ...options }) => cron(expression as string, options as CronOptions),
  every: ({ everyMs, ...options }) => every(everyMs as number, options as EveryOptions),
  daily: (options) => daily(options),
  weekly: (options) => weekly(options as unknown as WeeklyOptions),
  monthly: (options) => monthly(options as unknown as MonthlyOptions),
  yearly: (options) => yearly(options as unknown as YearlyOptions),
  rrule: ({ rule, ...options }) => rrule(rule as string, options as RruleOptions),
})

/** Restores a schedule from its JSON, as a string or as an object. */
export function parseSchedule(json: unknown): Schedule {
  const { version, type, jitterMs, windowMs, ...rest } = readObject(json)
  if (version !== 1) {
    throw refused(`version ${shown(version)} is not supported: this Carillon reads version 1`)
  }
  if (!isRuleType(type)) {
    throw refused(`unknown type ${shown(type)}: the types are ${Object.keys(builders).join(', ')}`)
  }
  return builders[type]({
    ...rest,
    ...(jitterMs !== undefined && { jitter: jitterMs }),
    ...(windowMs !== undefined && { window: windowMs }),
  })
}

function isRuleType(type: unknown): type is RuleJson['type'] {
  return typeof type === 'string' && Object.hasOwn(builders, type)
}

function readObject(json: unknown): Stored {
  const value = typeof json === 'string' ? parseText(json) : json
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw refused(`expected an object, got ${shown(value)}`)
}

function parseText(text: string): unknown {
  if (text.length > limits.scheduleJsonLength)
    throw refused(`it has ${text.length} characters, at most ${limits.scheduleJsonLength} are allowed`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused('it is not JSON', error)
  }
}

function refused(why: string, cause?: unknown): InvalidInputError {
  return new InvalidInputError('invalid-schedule', `cannot read a stored schedule: ${why}`, { cause })
}
