import type { ListQuery } from '../../store.js'
import { SCHEDULE_FIELD } from '../../filter.js'
import { attemptOf, dueAtOf, keyAt, type RowSource, type Scope } from '../rows/chunk.js'
import { chunkLayout } from '../rows/chunk-layout.js'
import type { ChunkTable } from '../rows/chunk-table.js'

const { DUE, PROGRESS, EXTRA, WIDE } = chunkLayout

const scheduleField = Buffer.from(SCHEDULE_FIELD)

/** Tests rows against a list's filter on their bytes, without building them. */
export class RowMatcher {
  readonly #query: ListQuery
  readonly #dueFrom: number
  readonly #dueUntil: number
  readonly #isWindow: boolean
  readonly #prefix: string
  readonly #prefixBytes: Buffer
  readonly #isAsciiPrefix: boolean
  readonly #keyPart: string | undefined
  readonly #keyPartBytes: Buffer
  readonly #tagBytes: Buffer | undefined
  readonly #attemptFrom: number
  readonly #attemptUntil: number
  // Whether a row's scope matches, by the number of the scope in the source at hand.
  #accepts: boolean[] = []

  constructor(query: ListQuery) {
    this.#query = query
    this.#dueFrom = query.dueFromInclusive ?? -Infinity
    this.#dueUntil = query.dueUntilExclusive ?? Infinity
    this.#isWindow = this.#dueFrom > -Infinity || this.#dueUntil < Infinity
    this.#prefix = query.keyPrefix ?? ''
    this.#prefixBytes = Buffer.from(this.#prefix)
    this.#isAsciiPrefix = this.#prefixBytes.length === this.#prefix.length
    this.#keyPart = query.keyPart
    this.#keyPartBytes = Buffer.from(query.keyPart ?? '')
    this.#attemptFrom = query.attemptFromInclusive ?? 0
    this.#attemptUntil = query.attemptUntilExclusive ?? Infinity
    this.#tagBytes = query.tag === undefined ? undefined : Buffer.from(JSON.stringify(query.tag))
  }

  /** Whether a chunk may have a matching row. `start` and `endExclusive` are those of its bucket. */
  mayMatch(chunks: ChunkTable, ref: number, start: number, endExclusive: number): boolean {
    if (this.#isWindow) {
      const isInside = start < this.#dueUntil && endExclusive > this.#dueFrom
      const hasDisplaced = chunks.dueFrom[ref]! < this.#dueUntil && chunks.dueTo[ref]! >= this.#dueFrom
      if (!isInside && !hasDisplaced) return false
    }
    const scopes = chunks.scopesOf(ref)
    // An open chunk has no summary yet.
    return scopes === undefined || scopes.some((scope) => this.#isScope(scope))
  }

  /** To be called before `matches`, for each chunk. */
  begin({ scopes }: RowSource): void {
    this.#accepts = scopes.map((scope) => this.#isScope(scope))
  }

  matches(source: RowSource, ordinal: number): boolean {
    const tail = source.tail(ordinal)
    const { bytes, view } = source
    if (!this.#accepts[view.getUint16(tail + 1, true)]!) return false
    if (this.#isWindow) {
      const dueAt = dueAtOf(source, ordinal)
      if (dueAt < this.#dueFrom || dueAt >= this.#dueUntil) return false
    }
    if (this.#prefix !== '' && !this.#hasPrefix(source, tail)) return false
    if (this.#keyPart !== undefined && !this.#hasKeyPart(source, tail)) return false
    if (this.#attemptFrom > 0 || this.#attemptUntil < Infinity) {
      const attempt = attemptOf(source, ordinal)
      if (attempt < this.#attemptFrom || attempt >= this.#attemptUntil) return false
    }
    const { isRecurring } = this.#query
    if (isRecurring !== undefined && hasSchedule(source, tail) !== isRecurring) return false
    return this.#tagBytes === undefined || ((bytes[tail]! & EXTRA) !== 0 && this.#hasTag(source, tail))
  }

  #isScope({ namespace, kind }: Scope): boolean {
    return namespace === this.#query.namespace && (this.#query.kind ?? kind) === kind
  }

  #hasPrefix(source: RowSource, tail: number): boolean {
    const { bytes, view } = source
    const at = keyAt(source, tail)
    const length = view.getUint16(tail + 3, true)
    if ((bytes[tail]! & WIDE) !== 0) return bytes.toString('utf8', at, at + length).startsWith(this.#prefix)
    return this.#isAsciiPrefix && length >= this.#prefix.length && startsWith(bytes, at, this.#prefixBytes)
  }

  #hasKeyPart(source: RowSource, tail: number): boolean {
    const { bytes, view } = source
    const at = keyAt(source, tail)
    const end = at + view.getUint16(tail + 3, true)
    if ((bytes[tail]! & WIDE) !== 0) return bytes.toString('utf8', at, end).includes(this.#keyPart!)
    return includes(bytes, at, end, this.#keyPartBytes)
  }

  #hasTag({ bytes, view }: RowSource, tail: number): boolean {
    const at = extraAt(bytes[tail]!, tail)
    const end = at + 4 + view.getUint16(at, true)
    const wanted = this.#tagBytes!
    // The quotes are part of what is looked for. Nearly always that is enough to tell that a tag is not there.
    for (let from = at + 5; from + wanted.length < end; from++) {
      if (!startsWith(bytes, from, wanted)) continue
      const tags = JSON.parse(bytes.toString('utf8', at + 4, end)) as string[]
      return tags.includes(this.#query.tag!)
    }
    return false
  }
}

/** Whether the details of a row have a schedule: see `hasSchedule` of the filter. */
function hasSchedule({ bytes, view }: RowSource, tail: number): boolean {
  const flags = bytes[tail]!
  if ((flags & EXTRA) === 0) return false
  const at = extraAt(flags, tail)
  const from = at + 4 + view.getUint16(at, true)
  return includes(bytes, from, from + view.getUint16(at + 2, true), scheduleField)
}

/** Where tags and details begin. */
function extraAt(flags: number, tail: number): number {
  return tail + chunkLayout.tail + ((flags & DUE) === 0 ? 0 : 8) + ((flags & PROGRESS) === 0 ? 0 : 8)
}

/** Whether these bytes are anywhere between two offsets. A loop, because a `subarray` for each row costs more. */
function includes(bytes: Buffer, from: number, end: number, wanted: Buffer): boolean {
  for (let at = from; at + wanted.length <= end; at++) if (startsWith(bytes, at, wanted)) return true
  return false
}

function startsWith(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false
  return true
}
