import { InvalidInputError, shown } from '../error/index.js'
import type { TimerName } from './timer-row.js'

/** Longest names, in bytes of UTF-8, and the most a payload may weigh unless a store is told otherwise. */
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

// Namespaces and kinds come again and again: the last one that passed need not be looked at once more.
let lastNamespace: unknown
let lastKind: unknown

/** Refuses a namespace that is not a well-formed text of 1 to 128 bytes. */
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
      `tags must be a list of at most ${nameLimits.tags} texts, got ${shown(tags)}`,
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
      `a ${what} must be a text of 1 to ${maxBytes} bytes, got ${shown(text)}`,
    )
  }
  if (!isWellFormed(text)) {
    throw new InvalidInputError(
      code,
      `a ${what} must be well-formed Unicode without the character U+0000, got ${shown(text)}`,
    )
  }
  // A code unit takes at most three bytes: short texts need not be encoded to be measured.
  if (text.length * 3 > maxBytes && encoder.encode(text).length > maxBytes) {
    throw new InvalidInputError(
      code,
      `a ${what} may have ${maxBytes} bytes of UTF-8, this one has ${encoder.encode(text).length}: ${shown(text)}`,
    )
  }
}

/** A name as one text. Its parts cannot contain U+0000, so they cannot run into each other. */
export function nameText({ namespace, kind, key }: TimerName): string {
  return `${namespace}\0${kind}\0${key}`
}

/** Whether every store can keep `text`: no half of a surrogate pair alone, no U+0000, which PostgreSQL refuses. */
function isWellFormed(text: string): boolean {
  // Of most texts a look at each unit is quicker than to ask twice for the whole.
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0xd800) return (text as WellFormable).isWellFormed() && !text.includes('\0')
    if (unit === 0) return false
  }
  return true
}

/** What Node has since 20, and the library of ECMAScript 2023 does not declare. */
type WellFormable = string & { isWellFormed(): boolean }
