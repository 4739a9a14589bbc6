import { copyBytes } from '../copy-bytes.js'
import { PlainWrite } from '../plain-sets.js'
import type { Operation, OwnerWrite, SetOperation } from '../store.js'
import { chunkValuesAt, writeChunkEntry, writeChunkHead } from './chunk.js'
import { PackedColumn } from './packed-column.js'
import { PLACE_DIGITS, placePosition, writePlace } from './place-text.js'
import { ColumnSource, OperationSource, type PlainSource } from './plain-source.js'
import { HEAD_BYTES } from './row-codec.js'
import { newSheet, type Sheet } from './sheet.js'

const ARRAY = 0xdd
const BLOCK = 0xdb
const ENTRY = 0xd9
const ENTRY_BYTES = PLACE_DIGITS + 8
// What MessagePack takes for the lengths of a name and an entry.
const LENGTH_BYTES = 5 + 2

/** What a write sets, where it is nothing but sets without conditions and notes; undefined otherwise. */
export function plainSourceOf(write: OwnerWrite): PlainSource | undefined {
  if (write instanceof PlainWrite) return new ColumnSource(write)
  const { operations, history = [] } = write
  return history.length === 0 && arePlainSets(operations) ? new OperationSource(operations) : undefined
}

/** Whether all of them are sets without conditions and notes, and all answer requests or none does. */
function arePlainSets(operations: readonly Operation[]): operations is readonly SetOperation[] {
  const isAsked = operations[0]?.request !== undefined
  for (const operation of operations) {
    if (operation.type !== 'set' || operation.note !== undefined) return false
    if (operation.ifAbsent === true || (operation.ifRevision ?? operation.fromDead) !== undefined)
      return false
    if ((operation.request !== undefined) !== isAsked) return false
  }
  return operations.length > 0
}

/**
 * Plain sets as the script `write` takes them (plain.lua.ts): a column of MessagePack that has every name and what the
 * index says of it as it is stored, the rows as a chunk, and the ids of the requests that they answer or nothing.
 * `lastRevision` is what the last revision of the shard is believed to be.
 */
export function packPlainSets(sets: PlainSource, lastRevision: number): (Buffer | string)[] {
  const { length, rowBytes, nameBytes } = sets
  const valuesAt = chunkValuesAt(length)
  const chunk = newSheet(valuesAt + rowBytes)
  writeChunkHead(chunk, length, lastRevision)
  let rowsAt = valuesAt
  const order = orderOf(sets)
  // Where the name of each lies among the rows, for the column of names.
  const nameAts = new Uint32Array(2 * length)
  for (let at = 0; at < length; at++) {
    const index = order === undefined ? at : order[at]!
    const nameEnd = sets.writeHead(chunk, rowsAt, index)
    nameAts[2 * index] = rowsAt + HEAD_BYTES
    nameAts[2 * index + 1] = nameEnd
    rowsAt = sets.writeRest(chunk, rowsAt, nameEnd, index)
    writeChunkEntry(chunk, at, placePosition(sets.position(index)), index + 1, rowsAt - valuesAt)
  }
  const names = newSheet(5 + nameBytes + length * (ENTRY_BYTES + LENGTH_BYTES))
  let namesAt = writeArray(names, 2 * length)
  for (let index = 0; index < length; index++) {
    const from = nameAts[2 * index]!
    const end = nameAts[2 * index + 1]!
    names.bytes[namesAt] = BLOCK
    names.view.setUint32(namesAt + 1, end - from)
    namesAt = copyBytes(chunk.view, from, end, names.view, namesAt + 5)
    names.bytes[namesAt++] = ENTRY
    names.bytes[namesAt++] = ENTRY_BYTES
    writePlace(names.bytes, namesAt, sets.position(index), lastRevision + 1 + index)
    names.view.setFloat64(namesAt + PLACE_DIGITS, sets.identity(index), true)
    namesAt += ENTRY_BYTES
  }
  return [names.bytes.subarray(0, namesAt), chunk.bytes.subarray(0, rowsAt), requestsOf(sets)]
}

function requestsOf(sets: PlainSource): Buffer | string {
  if (sets.request(0) === undefined) return ''
  const ids = new PackedColumn(sets.length, 20)
  for (let index = 0; index < sets.length; index++) ids.addText(sets.request(index) ?? '')
  return ids.done()
}

/** The sets in the order of their positions, and then of their own; undefined when that is how they come. */
function orderOf(sets: PlainSource): Uint32Array | undefined {
  let isSorted = true
  for (let index = 1; index < sets.length && isSorted; index++) {
    isSorted = sets.position(index - 1) <= sets.position(index)
  }
  if (isSorted) return undefined
  const order = Uint32Array.from({ length: sets.length }, (_, index) => index)
  return order.sort((a, b) => sets.position(a) - sets.position(b) || a - b)
}

function writeArray({ bytes, view }: Sheet, length: number): number {
  bytes[0] = ARRAY
  view.setUint32(1, length)
  return 5
}
