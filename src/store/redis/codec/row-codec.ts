import type { Place, TimerContent, TimerProgress, TimerRow } from '../../../timer/index.js'
import type { Packer } from './packer.js'
import { newByteView, type ByteView, byteViewOf } from './byte-view.js'
import { positionAt, revisionAt } from './place-codec.js'
import { writeString } from '../../bytes/write-string.js'

/*
 * The value of a row, as it is stored under the row's place. The scripts read the same offsets.
 *
 * - due time, identity, time of creation (8 bytes each)
 * - attempt, occurrence (4 each)
 * - the lengths of the scope (namespace and kind), of the whole name, of the tags, of the details (2 each)
 * - name, tags, details, payload
 */
const IDENTITY = 8
const CREATED_AT = 16
const ATTEMPT = 24
const OCCURRENCE = 28
const SCOPE_LENGTH = 32
const NAME_LENGTH = 34
const TAGS_LENGTH = 36
const DETAILS_LENGTH = 38
const NAME_OFFSET = 40

const noTags: readonly string[] = Object.freeze([])

/** How many bytes come before a row's name. */
export const HEAD_BYTES = NAME_OFFSET

/** Writes a row up to the end of its name. Answers where that is. */
export function writeHead(
  { bytes, view }: ByteView,
  at: number,
  row: Omit<TimerContent, 'payload' | 'tags' | 'details'> & TimerProgress,
): number {
  view.setFloat64(at, row.dueAt, true)
  view.setFloat64(at + IDENTITY, row.identity, true)
  view.setFloat64(at + CREATED_AT, row.createdAt, true)
  view.setUint32(at + ATTEMPT, row.attempt, true)
  view.setUint32(at + OCCURRENCE, row.occurrence, true)
  const nameAt = at + NAME_OFFSET
  const kindAt = writeString(bytes, nameAt, row.namespace) + 1
  bytes[kindAt - 1] = 0
  const keyAt = writeString(bytes, kindAt, row.kind) + 1
  bytes[keyAt - 1] = 0
  const end = writeString(bytes, keyAt, row.key)
  view.setUint16(at + SCOPE_LENGTH, keyAt - 1 - nameAt, true)
  view.setUint16(at + NAME_LENGTH, end - nameAt, true)
  return end
}

/** The bytes with which the rows of plain sets of one call begin: the head, and the name up to the key. */
export function sharedHead(scope: Pick<TimerContent, 'namespace' | 'kind' | 'createdAt'>): DataView {
  const buffer = newByteView(NAME_OFFSET + 2 + 3 * (scope.namespace.length + scope.kind.length))
  const end = writeHead(buffer, 0, { ...scope, key: '', dueAt: 0, identity: 0, attempt: 0, occurrence: 0 })
  buffer.view.setUint16(TAGS_LENGTH, 0, true)
  buffer.view.setUint16(DETAILS_LENGTH, 0, true)
  return new DataView(buffer.bytes.buffer, buffer.bytes.byteOffset, end)
}

/** Fills in what differs from row to row, in a copy of the shared head at `at`. */
export function finishHead(
  view: DataView,
  at: number,
  nameEnd: number,
  dueAt: number,
  identity: number,
): void {
  view.setFloat64(at, dueAt, true)
  view.setFloat64(at + IDENTITY, identity, true)
  view.setUint16(at + NAME_LENGTH, nameEnd - at - NAME_OFFSET, true)
}

/** Writes the rest of a row, after its name. Answers where the row ends. */
export function writeRest(
  { bytes, view }: ByteView,
  at: number,
  nameEnd: number,
  { tags, details, payload }: TimerContent,
): number {
  const tagsEnd = tags.length === 0 ? nameEnd : writeString(bytes, nameEnd, tags.join('\0'))
  const detailsEnd = details === '' ? tagsEnd : writeString(bytes, tagsEnd, details)
  view.setUint16(at + TAGS_LENGTH, tagsEnd - nameEnd, true)
  view.setUint16(at + DETAILS_LENGTH, detailsEnd - tagsEnd, true)
  bytes.set(payload, detailsEnd)
  return detailsEnd + payload.length
}

/** An upper bound for the bytes of a row. */
export function maxRowBytes(row: TimerContent): number {
  // UTF-8 needs at most three bytes for a code unit.
  let units = row.namespace.length + row.kind.length + row.key.length + row.details.length
  if (row.tags.length > 0) for (const tag of row.tags) units += tag.length + 1
  return NAME_OFFSET + 2 + 3 * units + row.payload.length
}

export function packRow(packer: Packer, row: TimerContent & TimerProgress): void {
  packer.writeUpTo(maxRowBytes(row), (buffer, at) => writeRest(buffer, at, writeHead(buffer, at, row), row))
}

/** The due time of the row whose value begins at `at`. */
export function dueAtOf({ view }: ByteView, at: number): number {
  return view.getFloat64(at, true)
}

/** Where the name of the row ends whose value begins at `at`. */
export function nameEndOf({ view }: ByteView, at: number): number {
  return at + NAME_OFFSET + view.getUint16(at + NAME_LENGTH, true)
}

/** The recorded attempts of the row. */
export function attemptOf({ view }: ByteView, at: number): number {
  return view.getUint32(at + ATTEMPT, true)
}

/** Where its details are. */
export function detailsOf(buffer: ByteView, at: number): { readonly from: number; readonly end: number } {
  const from = nameEndOf(buffer, at) + buffer.view.getUint16(at + TAGS_LENGTH, true)
  return { from, end: from + buffer.view.getUint16(at + DETAILS_LENGTH, true) }
}

/** Where its key begins. */
export function keyStartOf({ view }: ByteView, at: number): number {
  return at + NAME_OFFSET + view.getUint16(at + SCOPE_LENGTH, true) + 1
}

/** Reads namespace and kind of rows. Most rows of a page share them, so the strings are reused while they stay the same. */
export class ScopeReader {
  namespace = ''
  kind = ''
  #bytes: Buffer | undefined

  /** Reads the scope between two offsets of a row's value. */
  read(value: Buffer, from: number, end: number): void {
    if (this.#isSame(value, from, end)) return
    const kindAt = value.indexOf(0, from) + 1
    this.namespace = value.toString('utf8', from, kindAt - 1)
    this.kind = value.toString('utf8', kindAt, end)
    this.#bytes = value.subarray(from, end)
  }

  #isSame(value: Buffer, from: number, end: number): boolean {
    const bytes = this.#bytes
    if (bytes?.length !== end - from) return false
    for (let index = 0; index < bytes.length; index++) {
      if (bytes[index] !== value[from + index]) return false
    }
    return true
  }
}

/** The row at a place, from its value between two offsets. The payload is a view of the value's bytes. */
export function rowAt(
  place: Place,
  buffer: ByteView,
  from: number,
  end: number,
  scope = new ScopeReader(),
): TimerRow {
  const { bytes, view } = buffer
  const nameAt = from + NAME_OFFSET
  const tagsAt = nameAt + view.getUint16(from + NAME_LENGTH, true)
  const detailsAt = tagsAt + view.getUint16(from + TAGS_LENGTH, true)
  const payloadAt = detailsAt + view.getUint16(from + DETAILS_LENGTH, true)
  const scopeEnd = nameAt + view.getUint16(from + SCOPE_LENGTH, true)
  scope.read(bytes, nameAt, scopeEnd)
  return {
    namespace: scope.namespace,
    kind: scope.kind,
    key: bytes.toString('utf8', scopeEnd + 1, tagsAt),
    identity: view.getFloat64(from + IDENTITY, true),
    createdAt: view.getFloat64(from + CREATED_AT, true),
    payload: bytes.subarray(payloadAt, end),
    tags: detailsAt === tagsAt ? noTags : bytes.toString('utf8', tagsAt, detailsAt).split('\0'),
    details: payloadAt === detailsAt ? '' : bytes.toString('utf8', detailsAt, payloadAt),
    dueAt: dueAtOf(buffer, from),
    attempt: view.getUint32(from + ATTEMPT, true),
    occurrence: view.getUint32(from + OCCURRENCE, true),
    position: place.position,
    revision: place.revision,
  }
}

/** The row at a place, from its value. */
export function rowWith(place: Place, value: Buffer): TimerRow {
  return rowAt(place, byteViewOf(value), 0, value.length)
}

/** The row of a field and a value of a part's hash. */
export function rowOf(field: Buffer, value: Buffer): TimerRow {
  return rowWith({ position: positionAt(field, 0), revision: revisionAt(field, 0) }, value)
}
