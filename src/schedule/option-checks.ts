import { InvalidInputError, LimitError, shown } from '../error/index.js'

/** Throws unless the value is one of the choices. */
export function checkChoice<T extends string>(what: string, value: unknown, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  const accepted = choices.map((choice) => `'${choice}'`).join(', ')
  throw new InvalidInputError('invalid-option', `${what} must be one of ${accepted}, got ${shown(value)}`)
}

/** Throws unless the value is an integer from 1 to `most`. */
export function checkCount(what: string, value: unknown, most: number): number {
  if (!(typeof value === 'number' && Number.isSafeInteger(value) && value >= 1)) {
    throw new InvalidInputError(
      'invalid-option',
      `${what} must be an integer from 1 to ${most}, got ${shown(value)}`,
    )
  }
  if (value > most) {
    throw new LimitError('too-many-occurrences', `${what} must be at most ${most}, got ${value}`)
  }
  return value
}

/** Throws if a string is too long, before anything parses it. */
export function checkLength(what: string, text: string, most: number): void {
  if (text.length <= most) return
  throw new LimitError(
    'expression-too-long',
    `${what} may have at most ${most} characters, got ${text.length}`,
  )
}
