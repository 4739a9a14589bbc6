import { InvalidInputError } from './carillon-error.js'
import { shown } from './shown.js'

/** Throws unless `options` is an object with only `known` names, so that a typo does not go unnoticed. */
export function checkOptions(what: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidInputError('invalid-option', `${what} takes an object of options, got ${shown(options)}`)
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new InvalidInputError(
        'unknown-option',
        `${what} does not know the option ${shown(name)}; it takes ${known.join(', ')}`,
      )
    }
  }
}

/** Throws unless the option is an integer in its range. */
export function checkInteger(what: string, value: unknown, least: number, most = Infinity): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return
  const range = most === Infinity ? `from ${least}` : `from ${least} to ${most}`
  throw new InvalidInputError('invalid-option', `${what} must be an integer ${range}, got ${shown(value)}`)
}

/** Throws unless the rate is undefined or a positive number. */
export function checkRate(rate: unknown): void {
  if (rate === undefined || (typeof rate === 'number' && rate > 0 && Number.isFinite(rate))) return
  throw new InvalidInputError(
    'invalid-option',
    `rate must be a number above 0 (per second), got ${shown(rate)}`,
  )
}

/** Throws unless the option is a function. */
export function checkFunction(what: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new InvalidInputError('invalid-option', `${what} must be a function, got ${shown(value)}`)
}
