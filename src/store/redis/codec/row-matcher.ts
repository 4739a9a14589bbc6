import type { ListQuery } from '../../store.js'
import type { ByteView } from './byte-view.js'
import { HEAD_BYTES, keyStartOf, nameEndOf } from './row-codec.js'

/** Rejects most rows that a list does not look for on their bytes, without building them. */
export class RowMatcher {
  readonly #dueFrom: number
  readonly #dueUntil: number
  /** How the name begins: the namespace, and kind and key as far as they are given. */
  readonly #name: Buffer
  /** How the key begins, if the kind is not given. */
  readonly #key: Buffer | undefined

  constructor({ namespace, kind, keyPrefix = '', dueFromInclusive, dueUntilExclusive }: ListQuery) {
    this.#dueFrom = dueFromInclusive ?? -Infinity
    this.#dueUntil = dueUntilExclusive ?? Infinity
    // Half of a surrogate pair has no bytes of its own.
    const isExact = Buffer.from(keyPrefix).toString() === keyPrefix
    const key = isExact ? keyPrefix : ''
    this.#name = Buffer.from(kind === undefined ? `${namespace}\0` : `${namespace}\0${kind}\0${key}`)
    this.#key = kind === undefined && key !== '' ? Buffer.from(key) : undefined
  }

  /** Whether the row whose value begins at `from` may match. */
  mayMatch(buffer: ByteView, from: number, dueAt: number): boolean {
    if (dueAt < this.#dueFrom || dueAt >= this.#dueUntil) return false
    const end = nameEndOf(buffer, from)
    if (!startsWith(buffer.bytes, from + HEAD_BYTES, end, this.#name)) return false
    return this.#key === undefined || startsWith(buffer.bytes, keyStartOf(buffer, from), end, this.#key)
  }
}

function startsWith(bytes: Buffer, at: number, end: number, wanted: Buffer): boolean {
  if (end - at < wanted.length) return false
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false
  return true
}
