import { InvalidInputError, shown } from '../error/index.js'

/** Encodes where the next page begins. It names its kind of query, so that another kind can refuse it. */
export function cursorOf(query: string, parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([query, ...parts])).toString('base64url')
}

/** Decodes the parts of `cursorOf`. Refuses a cursor of another kind of query. */
export function parseCursor(query: string, cursor: string): (string | number)[] {
  try {
    const [from, ...parts]: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (from === query && parts.every((part) => typeof part === 'string' || typeof part === 'number'))
      return parts
  } catch {
    // Not JSON: refused below.
  }
  throw new InvalidInputError('invalid-cursor', `${shown(cursor)} is not a cursor of a ${query} query`)
}
