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

/** Refuses an option that is not a function. */
export function checkFunction(what: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new InvalidInputError('invalid-option', `${what} must be a function, got ${shown(value)}`)
}
