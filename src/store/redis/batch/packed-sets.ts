import { copyBytes } from '../../bytes/copy-bytes.js'
import { SetColumnsWrite } from '../../set-columns.js'
import type { Operation, OwnerWrite, SetOperation } from '../../store.js'
import { chunkValuesAt, writeChunkEntry, writeChunkHead } from '../codec/chunk.js'
import { PackedColumn } from '../codec/packed-column.js'
import { PLACE_DIGITS, storedPosition, writePlace } from '../codec/place-codec.js'
import { ColumnSource, OperationSource, type SetSource } from './set-source.js'
import { HEAD_BYTES } from '../codec/row-codec.js'
import { newByteView, type ByteView } from '../codec/byte-view.js'

const ARRAY_32 = 0xdd
const STRING_32 = 0xdb
const STRING_8 = 0xd9
const ENTRY_BYTES = PLACE_DIGITS + 8
// MessagePack's bytes for the lengths of a name and an entry.
const LENGTH_BYTES = 5 + 2

/** The sets of a write that has nothing but plain sets: no conditions, no notes. Undefined for any other write. */
export function setSourceOf(write: OwnerWrite): SetSource | undefined {
  if (write instanceof SetColumnsWrite) return new ColumnSource(write)
  const { operations, history = [] } = write
  return history.length === 0 && arePlainSets(operations) ? new OperationSource(operations) : undefined
}

/** Whether all are sets without conditions and notes, and either all or none answer requests. */
function arePlainSets(operations: readonly Operation[]): operations is readonly SetOperation[] {
  const answersRequest = operations[0]?.request !== undefined
  for (const operation of operations) {
    if (operation.type !== 'set' || operation.note !== undefined) return false
    if (operation.ifAbsent === true || (operation.ifRevision ?? operation.fromDead) !== undefined)
      return false
    if ((operation.request !== undefined) !== answersRequest) return false
  }
  return operations.length > 0
}

/**
 * Plain sets as arguments of the script `write` (plain.lua.ts): a MessagePack array of names and their index entries,
 * the rows as a chunk, and the ids of the requests that they answer, or an empty string. The server stores the first
 * two as they are. `lastRevision` is the predicted last revision of the shard.
 */
export function packSets(sets: SetSource, lastRevision: number): (Buffer | string)[] {
  const { length, rowBytes, nameBytes } = sets
  const valuesAt = chunkValuesAt(length)
  const chunk = newByteView(valuesAt + rowBytes)
  writeChunkHead(chunk, length, lastRevision)
  let rowsAt = valuesAt
  const order = sortedOrder(sets)
  // Where each name begins and ends in the chunk, so that it is encoded only once.
  const nameAts = new Uint32Array(2 * length)
  for (let at = 0; at < length; at++) {
    const index = order === undefined ? at : order[at]!
    const nameEnd = sets.writeHead(chunk, rowsAt, index)
    nameAts[2 * index] = rowsAt + HEAD_BYTES
    nameAts[2 * index + 1] = nameEnd
    rowsAt = sets.writeRest(chunk, rowsAt, nameEnd, index)
    writeChunkEntry(chunk, at, storedPosition(sets.position(index)), index + 1, rowsAt - valuesAt)
  }
  const names = newByteView(5 + nameBytes + length * (ENTRY_BYTES + LENGTH_BYTES))
  let namesAt = writeArrayHead(names, 2 * length)
  for (let index = 0; index < length; index++) {
    const from = nameAts[2 * index]!
    const end = nameAts[2 * index + 1]!
    names.bytes[namesAt] = STRING_32
    names.view.setUint32(namesAt + 1, end - from)
    namesAt = copyBytes(chunk.view, from, end, names.view, namesAt + 5)
    names.bytes[namesAt++] = STRING_8
    names.bytes[namesAt++] = ENTRY_BYTES
    writePlace(names.bytes, namesAt, sets.position(index), lastRevision + 1 + index)
    names.view.setFloat64(namesAt + PLACE_DIGITS, sets.identity(index), true)
    namesAt += ENTRY_BYTES
  }
  return [names.bytes.subarray(0, namesAt), chunk.bytes.subarray(0, rowsAt), packRequestIds(sets)]
}

function packRequestIds(sets: SetSource): Buffer | string {
  if (sets.request(0) === undefined) return ''
  const ids = new PackedColumn(sets.length, 20)
  for (let index = 0; index < sets.length; index++) ids.addString(sets.request(index) ?? '')
  return ids.done()
}

/** The indexes of the sets in the order of positions, ties in their own order. Undefined when they are sorted already. */
function sortedOrder(sets: SetSource): Uint32Array | undefined {
  let isSorted = true
  for (let index = 1; index < sets.length && isSorted; index++) {
    isSorted = sets.position(index - 1) <= sets.position(index)
  }
  if (isSorted) return undefined
  const order = Uint32Array.from({ length: sets.length }, (_, index) => index)
  return order.sort((a, b) => sets.position(a) - sets.position(b) || a - b)
}

function writeArrayHead({ bytes, view }: ByteView, length: number): number {
  bytes[0] = ARRAY_32
  view.setUint32(1, length)
  return 5
}
