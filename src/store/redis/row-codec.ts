import type { Place, TimerContent, TimerProgress, TimerRow } from '../../timer/index.js'
import type { Packer } from './packer.js'
import { positionAt, revisionAt } from './place-text.js'

/*
 * A row as it lies in its part, under its place: due time, identity, time of creation (8 bytes each), attempt,
 * occurrence (4 each), the lengths of namespace and kind, of the whole name, of tags and of details (2 each),
 * then name, tags, details and payload. The scripts read the same offsets.
 */
const ATTEMPT = 24
const OCCURRENCE = 28
const SCOPE_LENGTH = 32
const NAME_LENGTH = 34
const TAGS_LENGTH = 36
const DETAILS_LENGTH = 38
const NAME = 40

export function packRow(packer: Packer, row: TimerContent & TimerProgress): void {
  packer.double(row.dueAt).double(row.identity).double(row.createdAt).int(row.attempt).int(row.occurrence)
  const lengths = packer.length
  packer.int(0).int(0)
  const scope = packer.text(row.namespace) + packer.byte(0).text(row.kind) + 1
  const name = scope + packer.byte(0).text(row.key) + 1
  packer.shortAt(lengths, scope)
  packer.shortAt(lengths + 2, name)
  if (row.tags.length > 0) packer.shortAt(lengths + 4, packer.text(row.tags.join('\0')))
  if (row.details.length > 0) packer.shortAt(lengths + 6, packer.text(row.details))
  packer.bytes(row.payload)
}

export function dueAtOf(value: Buffer): number {
  return value.readDoubleLE(0)
}

/** The row at a place, from its value. The payload is a view of it. */
export function rowAt(place: Place, value: Buffer): TimerRow {
  const tagsAt = NAME + value.readUInt16LE(NAME_LENGTH)
  const detailsAt = tagsAt + value.readUInt16LE(TAGS_LENGTH)
  const payloadAt = detailsAt + value.readUInt16LE(DETAILS_LENGTH)
  const scopeEnd = NAME + value.readUInt16LE(SCOPE_LENGTH)
  const kindAt = value.indexOf(0, NAME) + 1
  return {
    namespace: value.toString('utf8', NAME, kindAt - 1),
    kind: value.toString('utf8', kindAt, scopeEnd),
    key: value.toString('utf8', scopeEnd + 1, tagsAt),
    identity: value.readDoubleLE(8),
    createdAt: value.readDoubleLE(16),
    payload: value.subarray(payloadAt),
    tags: detailsAt === tagsAt ? [] : value.toString('utf8', tagsAt, detailsAt).split('\0'),
    details: value.toString('utf8', detailsAt, payloadAt),
    dueAt: dueAtOf(value),
    attempt: value.readUInt32LE(ATTEMPT),
    occurrence: value.readUInt32LE(OCCURRENCE),
    position: place.position,
    revision: place.revision,
  }
}

/** The row of a field and a value of a part. */
export function rowOf(field: Buffer, value: Buffer): TimerRow {
  return rowAt({ position: positionAt(field, 0), revision: revisionAt(field, 0) }, value)
}
