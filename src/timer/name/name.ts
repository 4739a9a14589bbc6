import { InvalidInputError, shown } from '../../error/index.js'
import type { TimerName } from '../timer-row.js'

/** The limits of a timer's fields, in bytes of UTF-8. A store may be opened with another `payloadBytes`. */
export const nameLimits = Object.freeze({
  namespaceBytes: 128,
  kindBytes: 128,
  keyBytes: 512,
  tagBytes: 128,
  tags: 16,
  detailsBytes: 16_384,
  payloadBytes: 262_144,
})

const encoder = new TextEncoder()

// Namespaces and kinds repeat, so the last valid one is not checked again.
let lastNamespace: unknown
let lastKind: unknown

/** Throws unless the namespace is a well-formed string of 1 to 128 bytes. */
export function checkNamespace(namespace: unknown): asserts namespace is string {
  if (namespace === lastNamespace && namespace !== undefined) return
  checkText('namespace', namespace, 'invalid-namespace', nameLimits.namespaceBytes)
  lastNamespace = namespace
}

export function checkKind(kind: unknown): asserts kind is string {
  if (kind === lastKind && kind !== undefined) return
  checkText('kind', kind, 'invalid-kind', nameLimits.kindBytes)
  lastKind = kind
}

export function checkKey(key: unknown): asserts key is string {
  checkText('key', key, 'invalid-key', nameLimits.keyBytes)
}

export function checkTags(tags: unknown): asserts tags is readonly string[] {
  if (!Array.isArray(tags) || tags.length > nameLimits.tags) {
    throw new InvalidInputError(
      'invalid-tag',
      `tags must be an array of at most ${nameLimits.tags} strings, got ${shown(tags)}`,
    )
  }
  for (const tag of tags) checkText('tag', tag, 'invalid-tag', nameLimits.tagBytes)
}

function checkText(
  what: string,
  text: unknown,
  code: 'invalid-namespace' | 'invalid-kind' | 'invalid-key' | 'invalid-tag',
  maxBytes: number,
): void {
  if (typeof text !== 'string' || text.length === 0) {
    throw new InvalidInputError(
      code,
      `a ${what} must be a string of 1 to ${maxBytes} bytes, got ${shown(text)}`,
    )
  }
  if (!isWellFormed(text)) {
    throw new InvalidInputError(
      code,
      `a ${what} must be well-formed Unicode without the character U+0000, got ${shown(text)}`,
    )
  }
  // A code unit takes at most three bytes, so short strings need not be encoded.
  if (text.length * 3 > maxBytes && encoder.encode(text).length > maxBytes) {
    throw new InvalidInputError(
      code,
      `a ${what} may have up to ${maxBytes} bytes of UTF-8, this one has ${encoder.encode(text).length}: ${shown(text)}`,
    )
  }
}

/** A name as one string, for maps and stores. Its parts cannot contain U+0000, so it separates them. */
export function nameKey({ namespace, kind, key }: TimerName): string {
  return `${namespace}\0${kind}\0${key}`
}

/** Whether every store can keep `text`: no lone surrogates, and no U+0000, which PostgreSQL rejects. */
function isWellFormed(text: string): boolean {
  // For most strings this loop is faster than two calls of built-in functions.
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0xd800) return (text as WellFormable).isWellFormed() && !text.includes('\0')
    if (unit === 0) return false
  }
  return true
}

/** Node has it since version 20, but TypeScript's library for ES2023 does not declare it. */
type WellFormable = string & { isWellFormed(): boolean }
