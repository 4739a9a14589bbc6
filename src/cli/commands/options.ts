import { InvalidInputError, shown } from '../../error/index.js'
import { parseDuration } from '../../time/index.js'

/** Reads the values of options. A wrong one is a usage error, before anything is sent. */

/** An integer. */
export function integerOption(
  name: string,
  given: string | undefined,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (given === undefined) return undefined
  const value = /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN
  if (value >= least && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`
  throw new InvalidInputError('invalid-option', `${name} must be an integer ${range}, got ${shown(given)}`)
}

/** A duration, as it was given; digits are milliseconds. */
export function durationOption(name: string, given: string | undefined): string | number | undefined {
  if (given === undefined) return undefined
  try {
    const value = /^\d{1,16}$/.test(given) ? Number(given) : given
    parseDuration(value)
    return value
  } catch {
    throw new InvalidInputError(
      'invalid-duration',
      `${name} must be a duration such as 5m, 1h30m or PT5M, got ${shown(given)}`,
    )
  }
}

/** Any JSON. */
export function jsonOption(name: string, given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    throw new InvalidInputError('invalid-option', `${name} must be JSON, got ${shown(given)}`)
  }
}
