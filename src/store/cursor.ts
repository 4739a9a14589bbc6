import { InvalidInputError, shown } from '../error/index.js'

/** Opaque to the caller, and refused when it comes from another kind of query. */
export function cursorOf(query: string, parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([query, ...parts])).toString('base64url')
}

/** The parts that `cursorOf` was given. */
export function parseCursor(query: string, cursor: string): (string | number)[] {
  try {
    const [from, ...parts]: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (from === query && parts.every((part) => typeof part === 'string' || typeof part === 'number'))
      return parts
  } catch {
    // Refused below.
  }
  throw new InvalidInputError('invalid-cursor', `${shown(cursor)} is not a cursor of a ${query} query`)
}
