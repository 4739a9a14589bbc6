import { InvalidInputError } from './carillon-error.js'
import { shown } from './shown.js'

/** Throws if the value is not a finite number. */
export function checkInstant(value: unknown): asserts value is number {
  if (typeof value === 'number' && Number.isFinite(value)) return
  throw new InvalidInputError('invalid-instant', `cannot read ${shown(value)} as epoch milliseconds`)
}
