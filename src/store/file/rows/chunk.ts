import { StoreError } from '../../../error/index.js'
import type { TimerName, TimerRow } from '../../../timer/index.js'
import { chunkLayout } from './chunk-layout.js'

const { DUE, EXTRA, PROGRESS, WIDE } = chunkLayout

/** The namespace and the kind of a row, stored once per chunk. */
export interface Scope {
  readonly namespace: string
  readonly kind: string
}

/** Rows that can be read by ordinal: those of a chunk, or of one that is still being built. */
export interface RowSource {
  /** The bytes that hold the tails, and a view of them. */
  readonly bytes: Buffer
  readonly view: DataView
  readonly scopes: readonly Scope[]
  /** How many rows it has. */
  readonly rows: number
  position(ordinal: number): number
  revision(ordinal: number): number
  /** Where the tail of a row begins in `bytes`. */
  tail(ordinal: number): number
}

/** A chunk as it was read. It checks its header only, which is enough to detect a damaged chunk. */
export class Chunk implements RowSource {
  bytes: Buffer
  view: DataView
  length = 0
  rows = 0
  removals = 0
  bucketStart = 0
  #positionsAt = 0
  #offsetsAt = 0
  #tailsAt = 0
  #scopesAt = 0
  #scopes: Scope[] | undefined

  constructor(bytes: Buffer, length = bytes.length) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.read(length)
  }

  /** Reads the header again, after the bytes have changed. */
  read(length: number): void {
    const { view } = this
    if (length < chunkLayout.header || view.getUint8(0) !== chunkLayout.version)
      throw damaged(length === 0 ? 'it is empty' : `unknown version ${view.getUint8(0)}`)
    this.length = length
    this.rows = view.getUint32(4, true)
    this.removals = view.getUint32(8, true)
    this.#tailsAt = view.getUint32(12, true)
    this.#scopesAt = view.getUint32(16, true)
    this.bucketStart = view.getFloat64(24, true)
    this.#positionsAt = chunkLayout.header + 8 * (this.rows + this.removals)
    this.#offsetsAt = this.#positionsAt + 4 * this.rows
    this.#scopes = undefined
    const isSound =
      view.getUint32(20, true) === length &&
      this.#tailsAt === this.#offsetsAt + 4 * this.rows &&
      this.#scopesAt >= this.#tailsAt + chunkLayout.tail * this.rows &&
      this.#scopesAt <= length
    if (!isSound) throw damaged(`its parts do not fit its ${length} bytes`)
  }

  get scopes(): readonly Scope[] {
    return (this.#scopes ??= this.#readScopes())
  }

  position(ordinal: number): number {
    return this.bucketStart + this.view.getUint32(this.#positionsAt + 4 * ordinal, true)
  }

  revision(ordinal: number): number {
    return this.view.getFloat64(chunkLayout.header + 8 * ordinal, true)
  }

  removal(index: number): number {
    return this.view.getFloat64(chunkLayout.header + 8 * (this.rows + index), true)
  }

  tail(ordinal: number): number {
    return this.#tailsAt + this.view.getUint32(this.#offsetsAt + 4 * ordinal, true)
  }

  #readScopes(): Scope[] {
    const { bytes } = this
    const scopes: Scope[] = []
    let at = this.#scopesAt
    const text = (): string => {
      const length = bytes[at]!
      at += 1 + length
      return bytes.toString('utf8', at - length, at)
    }
    for (let left = this.view.getUint16(2, true); left > 0; left--)
      scopes.push({ namespace: text(), kind: text() })
    return scopes
  }
}

export function dueAtOf(source: RowSource, ordinal: number): number {
  const tail = source.tail(ordinal)
  return (source.bytes[tail]! & DUE) === 0
    ? source.position(ordinal)
    : source.view.getFloat64(tail + chunkLayout.tail, true)
}

/** The due time of a row, if it differs from the position. */
export function displacedDueAtOf(source: RowSource, ordinal: number): number | undefined {
  const tail = source.tail(ordinal)
  return (source.bytes[tail]! & DUE) === 0 ? undefined : source.view.getFloat64(tail + chunkLayout.tail, true)
}

/** The recorded attempts at the current occurrence of a row. */
export function attemptOf(source: RowSource, ordinal: number): number {
  const tail = source.tail(ordinal)
  const flags = source.bytes[tail]!
  if ((flags & PROGRESS) === 0) return 0
  return source.view.getUint32(tail + chunkLayout.tail + ((flags & DUE) === 0 ? 0 : 8), true)
}

export function identityOf(source: RowSource, ordinal: number): number {
  return source.view.getFloat64(source.tail(ordinal) + 9, true)
}

export function scopeOf(source: RowSource, ordinal: number): Scope {
  return source.scopes[source.view.getUint16(source.tail(ordinal) + 1, true)]!
}

export function payloadBytesOf(source: RowSource, ordinal: number): number {
  return source.view.getUint32(source.tail(ordinal) + 5, true)
}

/** The size of a row's tail. */
export function tailBytes(source: RowSource, tail: number): number {
  return (
    keyAt(source, tail) - tail + source.view.getUint16(tail + 3, true) + source.view.getUint32(tail + 5, true)
  )
}

/** The offset of a row's key. */
export function keyAt({ bytes, view }: RowSource, tail: number): number {
  const flags = bytes[tail]!
  let at = tail + chunkLayout.tail
  if ((flags & DUE) !== 0) at += 8
  if ((flags & PROGRESS) !== 0) at += 8
  if ((flags & EXTRA) !== 0) at += 4 + view.getUint16(at, true) + view.getUint16(at + 2, true)
  return at
}

/** Whether the row has this name. */
export function isNamed(source: RowSource, ordinal: number, name: TimerName): boolean {
  const tail = source.tail(ordinal)
  const { bytes, view } = source
  const scope = source.scopes[view.getUint16(tail + 1, true)]!
  if (scope.namespace !== name.namespace || scope.kind !== name.kind) return false
  const { key } = name
  const at = keyAt(source, tail)
  const length = view.getUint16(tail + 3, true)
  if ((bytes[tail]! & WIDE) !== 0) return bytes.toString('utf8', at, at + length) === key
  if (length !== key.length) return false
  for (let i = 0; i < length; i++) if (bytes[at + i] !== key.charCodeAt(i)) return false
  return true
}

/** Builds the row. Its payload shares the chunk's bytes, unless `copies` is set. */
export function rowOf(source: RowSource, ordinal: number, copies: boolean): TimerRow {
  const tail = source.tail(ordinal)
  const { bytes, view } = source
  const flags = bytes[tail]!
  const scope = source.scopes[view.getUint16(tail + 1, true)]!
  const position = source.position(ordinal)
  let at = tail + chunkLayout.tail
  let dueAt = position
  if ((flags & DUE) !== 0) {
    dueAt = view.getFloat64(at, true)
    at += 8
  }
  let attempt = 0
  let occurrence = 0
  if ((flags & PROGRESS) !== 0) {
    attempt = view.getUint32(at, true)
    occurrence = view.getUint32(at + 4, true)
    at += 8
  }
  let tags: readonly string[] = []
  let details = ''
  if ((flags & EXTRA) !== 0) {
    const tagBytes = view.getUint16(at, true)
    const detailBytes = view.getUint16(at + 2, true)
    at += 4 + tagBytes
    if (tagBytes > 0) tags = JSON.parse(bytes.toString('utf8', at - tagBytes, at)) as string[]
    details = bytes.toString('utf8', at, at + detailBytes)
    at += detailBytes
  }
  const keyEnd = at + view.getUint16(tail + 3, true)
  const key = (flags & WIDE) === 0 ? bytes.toString('latin1', at, keyEnd) : bytes.toString('utf8', at, keyEnd)
  const payloadBytes = view.getUint32(tail + 5, true)
  const payload = new Uint8Array(bytes.buffer, bytes.byteOffset + keyEnd, payloadBytes)
  return {
    namespace: scope.namespace,
    kind: scope.kind,
    key,
    identity: view.getFloat64(tail + 9, true),
    createdAt: view.getFloat64(tail + 17, true),
    payload: copies ? payload.slice() : payload,
    tags,
    details,
    dueAt,
    attempt,
    occurrence,
    position,
    revision: source.revision(ordinal),
  }
}

function damaged(what: string): StoreError {
  return new StoreError('store-damaged', `cannot read a chunk of the file store: ${what}`)
}
