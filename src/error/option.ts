import { InvalidInputError } from './carillon-error.js'
import { shown } from './shown.js'

/** Refuses anything but an object whose every name is among `known`, so that a typo cannot pass unseen. */
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

/** Refuses an option that is not a whole number in its range. */
export function checkWhole(what: string, value: unknown, least: number, most = Infinity): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return
  const range = most === Infinity ? `from ${least}` : `from ${least} to ${most}`
  throw new InvalidInputError(
    'invalid-option',
    `${what} must be a whole number ${range}, got ${shown(value)}`,
  )
}

/** Refuses what is no rate; undefined is none. */
export function checkRate(rate: unknown): void {
  if (rate === undefined || (typeof rate === 'number' && rate > 0 && Number.isFinite(rate))) return
  throw new InvalidInputError(
    'invalid-option',
    `rate must be a number above 0, per second, got ${shown(rate)}`,
  )
}

/** Refuses an option that is not a function. */
export function checkFunction(what: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new InvalidInputError('invalid-option', `${what} must be a function, got ${shown(value)}`)
}
