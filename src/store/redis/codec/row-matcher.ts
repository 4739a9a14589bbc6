import type { ListQuery } from '../../store.js'
import type { ByteView } from './byte-view.js'
import { SCHEDULE_FIELD } from '../../filter.js'
import { attemptOf, detailsOf, HEAD_BYTES, keyStartOf, nameEndOf } from './row-codec.js'

const scheduleField = Buffer.from(SCHEDULE_FIELD)

/** Rejects most rows that a list does not look for on their bytes, without building them. */
export class RowMatcher {
  readonly #dueFrom: number
  readonly #dueUntil: number
  /** How the name begins: the namespace, and kind and key as far as they are given. */
  readonly #name: Buffer
  /** How the key begins, if the kind is not given. */
  readonly #key: Buffer | undefined
  readonly #keyPart: Buffer | undefined
  readonly #attemptFrom: number
  readonly #attemptUntil: number
  readonly #isRecurring: boolean | undefined

  constructor(query: ListQuery) {
    const { namespace, kind, keyPrefix = '', keyPart = '', dueFromInclusive, dueUntilExclusive } = query
    this.#dueFrom = dueFromInclusive ?? -Infinity
    this.#dueUntil = dueUntilExclusive ?? Infinity
    const key = hasBytes(keyPrefix) ? keyPrefix : ''
    this.#name = Buffer.from(kind === undefined ? `${namespace}\0` : `${namespace}\0${kind}\0${key}`)
    this.#key = kind === undefined && key !== '' ? Buffer.from(key) : undefined
    this.#keyPart = keyPart !== '' && hasBytes(keyPart) ? Buffer.from(keyPart) : undefined
    this.#attemptFrom = query.attemptFromInclusive ?? 0
    this.#attemptUntil = query.attemptUntilExclusive ?? Infinity
    this.#isRecurring = query.isRecurring
  }

  /** Whether the row whose value begins at `from` may match. */
  mayMatch(buffer: ByteView, from: number, dueAt: number): boolean {
    if (dueAt < this.#dueFrom || dueAt >= this.#dueUntil) return false
    const end = nameEndOf(buffer, from)
    if (!startsWith(buffer.bytes, from + HEAD_BYTES, end, this.#name)) return false
    if (this.#attemptFrom > 0 || this.#attemptUntil < Infinity) {
      const attempt = attemptOf(buffer, from)
      if (attempt < this.#attemptFrom || attempt >= this.#attemptUntil) return false
    }
    if (this.#key === undefined && this.#keyPart === undefined && this.#isRecurring === undefined) return true
    const { bytes } = buffer
    const keyAt = keyStartOf(buffer, from)
    if (this.#key !== undefined && !startsWith(bytes, keyAt, end, this.#key)) return false
    if (this.#keyPart !== undefined && !includes(bytes, keyAt, end, this.#keyPart)) return false
    if (this.#isRecurring === undefined) return true
    const details = detailsOf(buffer, from)
    return includes(bytes, details.from, details.end, scheduleField) === this.#isRecurring
  }
}

/** Whether a text can be compared by its bytes. Half of a surrogate pair has none of its own. */
function hasBytes(text: string): boolean {
  return Buffer.from(text).toString() === text
}

function includes(bytes: Buffer, from: number, end: number, wanted: Buffer): boolean {
  for (let at = from; at + wanted.length <= end; at++) if (startsWith(bytes, at, end, wanted)) return true
  return false
}

function startsWith(bytes: Buffer, at: number, end: number, wanted: Buffer): boolean {
  if (end - at < wanted.length) return false
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false
  return true
}
