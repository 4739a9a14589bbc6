import type { Place, TimerContent, TimerProgress, TimerRow } from '../../timer/index.js'
import type { Packer } from './packer.js'
import { newSheet, type Sheet, sheetOf } from './sheet.js'
import { positionAt, revisionAt } from './place-text.js'
import { writeText } from '../write-text.js'

/*
 * A row as it lies in its part, under its place: due time, identity, time of creation (8 bytes each), attempt,
 * occurrence (4 each), the lengths of namespace and kind, of the whole name, of tags and of details (2 each),
 * then name, tags, details and payload. The scripts read the same offsets.
 */
const IDENTITY = 8
const CREATED_AT = 16
const ATTEMPT = 24
const OCCURRENCE = 28
const SCOPE_LENGTH = 32
const NAME_LENGTH = 34
const TAGS_LENGTH = 36
const DETAILS_LENGTH = 38
const NAME = 40

const noTags: readonly string[] = Object.freeze([])

/** How many bytes lie before a row's name. */
export const HEAD_BYTES = NAME

/** Writes a row up to the end of its name, and answers where that is. */
export function writeHead(
  { bytes, view }: Sheet,
  at: number,
  row: Omit<TimerContent, 'payload' | 'tags' | 'details'> & TimerProgress,
): number {
  view.setFloat64(at, row.dueAt, true)
  view.setFloat64(at + IDENTITY, row.identity, true)
  view.setFloat64(at + CREATED_AT, row.createdAt, true)
  view.setUint32(at + ATTEMPT, row.attempt, true)
  view.setUint32(at + OCCURRENCE, row.occurrence, true)
  const nameAt = at + NAME
  const kindAt = writeText(bytes, nameAt, row.namespace) + 1
  bytes[kindAt - 1] = 0
  const keyAt = writeText(bytes, kindAt, row.kind) + 1
  bytes[keyAt - 1] = 0
  const end = writeText(bytes, keyAt, row.key)
  view.setUint16(at + SCOPE_LENGTH, keyAt - 1 - nameAt, true)
  view.setUint16(at + NAME_LENGTH, end - nameAt, true)
  return end
}

/** What the rows of plain sets of one call begin with: the head, and the name up to the key. */
export function plainHead(scope: Pick<TimerContent, 'namespace' | 'kind' | 'createdAt'>): DataView {
  const sheet = newSheet(NAME + 2 + 3 * (scope.namespace.length + scope.kind.length))
  const end = writeHead(sheet, 0, { ...scope, key: '', dueAt: 0, identity: 0, attempt: 0, occurrence: 0 })
  sheet.view.setUint16(TAGS_LENGTH, 0, true)
  sheet.view.setUint16(DETAILS_LENGTH, 0, true)
  return new DataView(sheet.bytes.buffer, sheet.bytes.byteOffset, end)
}

/** Puts into a copy of that at `at` what differs from row to row. */
export function finishHead(
  view: DataView,
  at: number,
  nameEnd: number,
  dueAt: number,
  identity: number,
): void {
  view.setFloat64(at, dueAt, true)
  view.setFloat64(at + IDENTITY, identity, true)
  view.setUint16(at + NAME_LENGTH, nameEnd - at - NAME, true)
}

/** Writes what comes after a row's name, and answers where it ends. */
export function writeRest(
  { bytes, view }: Sheet,
  at: number,
  nameEnd: number,
  { tags, details, payload }: TimerContent,
): number {
  const tagsEnd = tags.length === 0 ? nameEnd : writeText(bytes, nameEnd, tags.join('\0'))
  const detailsEnd = details === '' ? tagsEnd : writeText(bytes, tagsEnd, details)
  view.setUint16(at + TAGS_LENGTH, tagsEnd - nameEnd, true)
  view.setUint16(at + DETAILS_LENGTH, detailsEnd - tagsEnd, true)
  bytes.set(payload, detailsEnd)
  return detailsEnd + payload.length
}

/** The most bytes that a row can take. */
export function mostBytesOf(row: TimerContent): number {
  // UTF-8 takes at most three bytes for a code unit.
  let units = row.namespace.length + row.kind.length + row.key.length + row.details.length
  if (row.tags.length > 0) for (const tag of row.tags) units += tag.length + 1
  return NAME + 2 + 3 * units + row.payload.length
}

export function packRow(packer: Packer, row: TimerContent & TimerProgress): void {
  packer.room(mostBytesOf(row), (sheet, at) => writeRest(sheet, at, writeHead(sheet, at, row), row))
}

/** When the row is due whose value begins there. */
export function dueAtOf({ view }: Sheet, at: number): number {
  return view.getFloat64(at, true)
}

/** The namespace and kind of rows. Most of a page share them: their texts are made once for as long as they do. */
export class Scopes {
  namespace = ''
  kind = ''
  #bytes: Buffer | undefined

  /** Reads the scope that lies between the two in a row's value. */
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

/** The row at a place, from its value, which lies between the two. The payload is a view of it. */
export function rowAt(
  place: Place,
  sheet: Sheet,
  from: number,
  end: number,
  scopes = new Scopes(),
): TimerRow {
  const { bytes, view } = sheet
  const nameAt = from + NAME
  const tagsAt = nameAt + view.getUint16(from + NAME_LENGTH, true)
  const detailsAt = tagsAt + view.getUint16(from + TAGS_LENGTH, true)
  const payloadAt = detailsAt + view.getUint16(from + DETAILS_LENGTH, true)
  const scopeEnd = nameAt + view.getUint16(from + SCOPE_LENGTH, true)
  scopes.read(bytes, nameAt, scopeEnd)
  return {
    namespace: scopes.namespace,
    kind: scopes.kind,
    key: bytes.toString('utf8', scopeEnd + 1, tagsAt),
    identity: view.getFloat64(from + IDENTITY, true),
    createdAt: view.getFloat64(from + CREATED_AT, true),
    payload: bytes.subarray(payloadAt, end),
    tags: detailsAt === tagsAt ? noTags : bytes.toString('utf8', tagsAt, detailsAt).split('\0'),
    details: payloadAt === detailsAt ? '' : bytes.toString('utf8', detailsAt, payloadAt),
    dueAt: dueAtOf(sheet, from),
    attempt: view.getUint32(from + ATTEMPT, true),
    occurrence: view.getUint32(from + OCCURRENCE, true),
    position: place.position,
    revision: place.revision,
  }
}

/** The row of a place and a value. */
export function rowWith(place: Place, value: Buffer): TimerRow {
  return rowAt(place, sheetOf(value), 0, value.length)
}

/** The row of a field and a value of a part. */
export function rowOf(field: Buffer, value: Buffer): TimerRow {
  return rowWith({ position: positionAt(field, 0), revision: revisionAt(field, 0) }, value)
}
