import { InvalidInputError, LimitError, shown } from '../error/index.js'

/** Refuses what is not among the words an option takes. */
export function checkChoice<T extends string>(what: string, value: unknown, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  const accepted = choices.map((choice) => `'${choice}'`).join(', ')
  throw new InvalidInputError('invalid-option', `${what} must be one of ${accepted}, got ${shown(value)}`)
}

/** Refuses what is not a whole number of at least 1, and what is more than Carillon does at once. */
export function checkCount(what: string, value: unknown, most: number): number {
  if (!(typeof value === 'number' && Number.isSafeInteger(value) && value >= 1)) {
    throw new InvalidInputError(
      'invalid-option',
      `${what} must be a whole number from 1 to ${most}, got ${shown(value)}`,
    )
  }
  if (value > most) {
    throw new LimitError('too-many-occurrences', `${what} can be at most ${most}, got ${value}`)
  }
  return value
}

/** Refuses a text that is longer than anybody writes, before anything reads it. */
export function checkLength(what: string, text: string, most: number): void {
  if (text.length <= most) return
  throw new LimitError('expression-too-long', `${what} has at most ${most} characters, got ${text.length}`)
}
