import { InvalidInputError } from './carillon-error.js'
import { shown } from './shown.js'

/** Refuses what cannot be a moment on the clock. */
export function checkInstant(value: unknown): asserts value is number {
  if (typeof value === 'number' && Number.isFinite(value)) return
  throw new InvalidInputError('invalid-instant', `cannot read ${shown(value)} as epoch milliseconds`)
}
