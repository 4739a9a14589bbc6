import type { TimerContent, TimerProgress } from '../../../timer/index.js'
import type { Bucket } from './bucket.js'
import { putChecksum } from './chunk-checksum.js'
import { chunkLayout } from './chunk-layout.js'
import { dueAtOf, type RowSource, type Scope, tailBytes } from './chunk.js'
import type { SetColumns } from '../../set-columns.js'
import type { WriteOnceBuffers } from '../lmdb/write-once-buffers.js'

const { CHECKED, DUE, EXTRA, PROGRESS, WIDE } = chunkLayout
const FIRST_TAIL_BYTES = 16_384
// Fewer bytes than this are copied faster one by one than by a call.
const FEW_BYTES = 64

/**
 * Packs rows and removals of one bucket into a chunk. Its rows can be read while it is open. `seal` copies everything
 * into the chunk's own bytes and leaves the builder empty, ready for the next chunk.
 */
export class ChunkBuilder implements RowSource {
  bucket: Bucket | undefined
  /** The ref of the chunk that it builds. */
  ref = -1
  rows = 0
  bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_TAIL_BYTES)
  view = new DataView(this.bytes.buffer)
  readonly scopes: Scope[] = []
  readonly removals: number[] = []
  /** The earliest and the latest due time of its rows that differ from the position. */
  dueFrom = Infinity
  dueTo = -Infinity
  #start = 0
  #length = 0
  #revisions = new Float64Array(chunkLayout.maxRows)
  #positions = new Uint32Array(chunkLayout.maxRows)
  #offsets = new Uint32Array(chunkLayout.maxRows)
  #scopeBytes = 0

  begin(bucket: Bucket, ref: number): void {
    this.bucket = bucket
    this.ref = ref
    this.#start = bucket.start
  }

  get isFull(): boolean {
    return (
      this.rows === chunkLayout.maxRows ||
      this.#length >= chunkLayout.fullTailBytes - 20 * this.rows ||
      this.removals.length >= 4 * chunkLayout.maxRows
    )
  }

  get isEmpty(): boolean {
    return this.rows === 0 && this.removals.length === 0
  }

  position(ordinal: number): number {
    return this.#start + this.#positions[ordinal]!
  }

  revision(ordinal: number): number {
    return this.#revisions[ordinal]!
  }

  tail(ordinal: number): number {
    return this.#offsets[ordinal]!
  }

  /** Adds a row and returns its ordinal. */
  add(
    content: TimerContent,
    progress: TimerProgress,
    position: number,
    revision: number,
    isAscii: boolean,
  ): number {
    const { key, payload } = content
    const { length } = key
    const ordinal = this.#beginRow(position, revision)
    const start = this.#length
    let flags = 0
    // An upper bound: a character of the key takes up to 3 bytes.
    let maxBytes = chunkLayout.tail + 16 + 3 * length + payload.length
    let tags = ''
    if (content.tags.length > 0 || content.details.length > 0) {
      flags |= EXTRA
      tags = content.tags.length > 0 ? JSON.stringify(content.tags) : ''
      maxBytes += 4 + 3 * (tags.length + content.details.length)
    }
    if (start + maxBytes > this.bytes.length) this.#grow(start + maxBytes)
    const { bytes, view } = this
    let at = start + chunkLayout.tail
    if (progress.dueAt !== position) {
      flags |= DUE
      this.#noteDue(progress.dueAt)
      view.setFloat64(at, progress.dueAt, true)
      at += 8
    }
    if (progress.attempt !== 0 || progress.occurrence !== 0) {
      flags |= PROGRESS
      view.setUint32(at, progress.attempt, true)
      view.setUint32(at + 4, progress.occurrence, true)
      at += 8
    }
    if ((flags & EXTRA) !== 0) {
      const tagsBytes = bytes.write(tags, at + 4, 'utf8')
      const detailsBytes = bytes.write(content.details, at + 4 + tagsBytes, 'utf8')
      view.setUint16(at, tagsBytes, true)
      view.setUint16(at + 2, detailsBytes, true)
      at += 4 + tagsBytes + detailsBytes
    }
    const payloadAt = this.#putKey(key, start, at, flags, isAscii)
    bytes.set(payload, payloadAt)
    this.#endRow(content, content.identity, payloadAt, payload.length)
    return ordinal
  }

  /** Adds one of the plain sets of a call, from its columns. */
  addPlain(sets: SetColumns, index: number, position: number, revision: number, isAscii: boolean): number {
    const key = sets.keys[index]!
    const dueAt = sets.dueAts[index]!
    const from = sets.payloads.from(index)
    const payloadBytes = sets.payloads.end(index) - from
    const ordinal = this.#beginRow(position, revision)
    const start = this.#length
    const maxBytes = chunkLayout.tail + 8 + 3 * key.length + payloadBytes
    if (start + maxBytes > this.bytes.length) this.#grow(start + maxBytes)
    let flags = 0
    let at = start + chunkLayout.tail
    if (dueAt !== position) {
      flags = DUE
      this.#noteDue(dueAt)
      this.view.setFloat64(at, dueAt, true)
      at += 8
    }
    const payloadAt = this.#putKey(key, start, at, flags, isAscii)
    copyBytes(sets.payloads.bytes, from, this.bytes, payloadAt, payloadBytes)
    this.#endRow(sets, sets.identities[index]!, payloadAt, payloadBytes)
    return ordinal
  }

  /** Writes the flags and the key of the row at `start`, and returns where the key ends. */
  #putKey(key: string, start: number, at: number, flags: number, isAscii: boolean): number {
    const { bytes, view } = this
    if (!isAscii) {
      const keyBytes = bytes.write(key, at, 'utf8')
      bytes[start] = flags | WIDE
      view.setUint16(start + 3, keyBytes, true)
      return at + keyBytes
    }
    const { length } = key
    for (let i = 0; i < length; i++) bytes[at + i] = key.charCodeAt(i)
    bytes[start] = flags
    view.setUint16(start + 3, length, true)
    return at + length
  }

  /** Completes the row that begins where the tails end so far. */
  #endRow(
    content: Scope & { readonly createdAt: number },
    identity: number,
    payloadAt: number,
    payloadBytes: number,
  ): void {
    const { view } = this
    const start = this.#length
    view.setUint16(start + 1, this.#scope(content), true)
    view.setUint32(start + 5, payloadBytes, true)
    view.setFloat64(start + 9, identity, true)
    view.setFloat64(start + 17, content.createdAt, true)
    this.#length = payloadAt + payloadBytes
  }

  /** Adds an unchanged row of another chunk and returns its ordinal. */
  addCopy(source: RowSource, from: number): number {
    const ordinal = this.#beginRow(source.position(from), source.revision(from))
    const tail = source.tail(from)
    const length = tailBytes(source, tail)
    const start = this.#length
    if (start + length > this.bytes.length) this.#grow(start + length)
    this.bytes.set(source.bytes.subarray(tail, tail + length), start)
    const scope = source.scopes[source.view.getUint16(tail + 1, true)]!
    this.view.setUint16(start + 1, this.#scope(scope), true)
    this.#length = start + length
    if ((this.bytes[start]! & DUE) !== 0) this.#noteDue(dueAtOf(source, from))
    return ordinal
  }

  seal(buffers: WriteOnceBuffers): Buffer {
    const { rows, removals, scopes } = this
    const positionsAt = chunkLayout.header + 8 * (rows + removals.length)
    const tailsAt = positionsAt + 8 * rows
    const scopesAt = tailsAt + this.#length
    const length = scopesAt + this.#scopeBytes + chunkLayout.checksum
    const sealed = buffers.take(length)
    const view = new DataView(sealed.buffer, sealed.byteOffset, length)
    view.setUint8(0, chunkLayout.version)
    view.setUint8(1, CHECKED)
    view.setUint16(2, scopes.length, true)
    view.setUint32(4, rows, true)
    view.setUint32(8, removals.length, true)
    view.setUint32(12, tailsAt, true)
    view.setUint32(16, scopesAt, true)
    view.setUint32(20, length, true)
    view.setFloat64(24, this.#start, true)
    for (let i = 0; i < rows; i++) {
      view.setFloat64(chunkLayout.header + 8 * i, this.#revisions[i]!, true)
      view.setUint32(positionsAt + 4 * i, this.#positions[i]!, true)
      view.setUint32(positionsAt + 4 * (rows + i), this.#offsets[i]!, true)
    }
    for (let i = 0; i < removals.length; i++)
      view.setFloat64(chunkLayout.header + 8 * (rows + i), removals[i]!, true)
    sealed.set(this.bytes.subarray(0, this.#length), tailsAt)
    let at = scopesAt
    for (const scope of scopes) {
      for (const text of [scope.namespace, scope.kind]) {
        const written = sealed.write(text, at + 1, 'utf8')
        sealed[at] = written
        at += 1 + written
      }
    }
    putChecksum(sealed)
    this.clear()
    return sealed
  }

  clear(): void {
    this.rows = 0
    this.removals.length = 0
    this.scopes.length = 0
    this.dueFrom = Infinity
    this.dueTo = -Infinity
    this.#length = 0
    this.#scopeBytes = 0
    // Free the memory that a huge row needed.
    if (this.bytes.length > 4 * FIRST_TAIL_BYTES) this.#replace(Buffer.allocUnsafeSlow(FIRST_TAIL_BYTES))
  }

  #beginRow(position: number, revision: number): number {
    const ordinal = this.rows++
    this.#revisions[ordinal] = revision
    this.#positions[ordinal] = position - this.#start
    this.#offsets[ordinal] = this.#length
    return ordinal
  }

  #noteDue(dueAt: number): void {
    if (dueAt < this.dueFrom) this.dueFrom = dueAt
    if (dueAt > this.dueTo) this.dueTo = dueAt
  }

  #scope(scope: Scope): number {
    const { scopes } = this
    for (let i = scopes.length - 1; i >= 0; i--) {
      const known = scopes[i]!
      if (known.kind === scope.kind && known.namespace === scope.namespace) return i
    }
    this.#scopeBytes += 2 + Buffer.byteLength(scope.namespace) + Buffer.byteLength(scope.kind)
    return scopes.push({ namespace: scope.namespace, kind: scope.kind }) - 1
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.bytes.length))
    grown.set(this.bytes.subarray(0, this.#length))
    this.#replace(grown)
  }

  #replace(bytes: Buffer): void {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer)
  }
}

function copyBytes(source: Buffer, from: number, target: Buffer, at: number, length: number): void {
  if (length >= FEW_BYTES) {
    source.copy(target, at, from, from + length)
    return
  }
  for (let i = 0; i < length; i++) target[at + i] = source[from + i]!
}
