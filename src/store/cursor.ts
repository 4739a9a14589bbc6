import { InvalidInputError, shown } from '../error/index.js'

type Part = string | number

/** Whether a part of a cursor can be one that the store wrote. */
export type CursorPart<Of extends Part = Part> = (part: unknown) => part is Of

/** An integer from 0 to `most`. */
export function integerUpTo(most: number): CursorPart<number> {
  return (part): part is number => Number.isSafeInteger(part) && Number(part) >= 0 && Number(part) <= most
}

/** A string of this form. */
export function textLike(form: RegExp): CursorPart<string> {
  return (part): part is string => typeof part === 'string' && form.test(part)
}

/** A number that is neither infinite nor NaN: a time of the history. */
export function finite(part: unknown): part is number {
  return Number.isFinite(part)
}

/** Any integer that is exact: a position, a revision, a number of a record. */
export const anyInteger = integerUpTo(Number.MAX_SAFE_INTEGER)

/** Encodes where the next page begins. It names its kind of query, so that another kind can refuse it. */
export function cursorOf(query: string, parts: readonly Part[]): string {
  return Buffer.from(JSON.stringify([query, ...parts])).toString('base64url')
}

/**
 * Decodes the parts of `cursorOf`; undefined without a cursor. Cursors come from callers, so each part is checked: a
 * cursor of another kind of query is refused, and one whose parts this store cannot have written.
 */
export function parseCursor<Parts extends readonly Part[]>(
  query: string,
  cursor: string | undefined,
  ...wanted: { readonly [Index in keyof Parts]: CursorPart<Parts[Index] & Part> }
): Parts | undefined {
  if (cursor === undefined) return undefined
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(read) && read[0] === query && read.length === wanted.length + 1) {
      const parts: unknown[] = read.slice(1)
      if (wanted.every((isPart, index) => isPart(parts[index]))) return parts as unknown as Parts
    }
  } catch {
    // Not JSON: refused below.
  }
  throw new InvalidInputError(
    'invalid-cursor',
    `${shown(cursor)} is not a cursor of a ${query} query: pass on the cursor of the page before, unchanged`,
  )
}
