import type { TimerRow } from '../../timer/index.js'

/** A namespace and a kind. */
export interface Scope {
  readonly namespace: string
  readonly kind: string
}

/** What few rows have: tags and details. */
export interface RowExtra {
  readonly tags: readonly string[]
  readonly details: string
}

/**
 * The fixed part of a row: eight numbers of eight bytes, one cache line. Five of them are doubles, and six integers of
 * four bytes follow. The key and the payload lie elsewhere, one after the other.
 */
export const recordLayout = Object.freeze({
  /** Doubles in a record; twice as many integers. */
  doubles: 8,
  POSITION: 0,
  /** 0 in a record that is free. */
  REVISION: 1,
  IDENTITY: 2,
  CREATED_AT: 3,
  DUE_AT: 4,
  // As integers:
  ATTEMPT: 10,
  OCCURRENCE: 11,
  SCOPE: 12,
  /** How many characters the key has, shifted left by 2, and the flags `WIDE` and `EXTRA`. */
  KEY: 13,
  PAYLOAD_BYTES: 14,
  BLOCK: 15,
  /** The key has characters beyond ASCII and takes two bytes for each code unit. */
  WIDE: 1,
  /** The row has tags or details. */
  EXTRA: 2,
})

const { doubles, ATTEMPT, CREATED_AT, DUE_AT, EXTRA, IDENTITY, KEY } = recordLayout
const { OCCURRENCE, PAYLOAD_BYTES, POSITION, REVISION, WIDE } = recordLayout
const noTags: readonly string[] = Object.freeze([])

/** How many bytes a key takes, from the field KEY. */
export function keyBytesOf(key: number): number {
  return (key & WIDE) === 0 ? key >>> 2 : (key >>> 2) * 2
}

export function hasExtra(key: number): boolean {
  return (key & EXTRA) !== 0
}

export function keyOf(key: number, bytes: Buffer, at: number): string {
  return bytes.toString((key & WIDE) === 0 ? 'latin1' : 'utf16le', at, at + keyBytesOf(key))
}

/** The row of a record whose key begins at `at`. Its payload shares the bytes, unless `copies` is set. */
export function rowOfRecord(
  numbers: Float64Array,
  words: Int32Array,
  record: number,
  bytes: Buffer,
  at: number,
  scope: Scope,
  extra: RowExtra | undefined,
  copies: boolean,
): TimerRow {
  const number = record * doubles
  const word = number * 2
  const key = words[word + KEY]!
  const payloadAt = bytes.byteOffset + at + keyBytesOf(key)
  const payload = new Uint8Array(bytes.buffer, payloadAt, words[word + PAYLOAD_BYTES])
  return {
    namespace: scope.namespace,
    kind: scope.kind,
    key: keyOf(key, bytes, at),
    identity: numbers[number + IDENTITY]!,
    createdAt: numbers[number + CREATED_AT]!,
    payload: copies ? payload.slice() : payload,
    tags: extra === undefined ? noTags : extra.tags,
    details: extra === undefined ? '' : extra.details,
    dueAt: numbers[number + DUE_AT]!,
    attempt: words[word + ATTEMPT]! >>> 0,
    occurrence: words[word + OCCURRENCE]! >>> 0,
    position: numbers[number + POSITION]!,
    revision: numbers[number + REVISION]!,
  }
}
