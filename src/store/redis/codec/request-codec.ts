import { nameKey, type TimerName } from '../../../timer/index.js'
import { nameOfSet } from '../../request-names.js'
import type { InboxRequest, RequestedOperation, SetOperation } from '../../store.js'
import { MAX_BATCH_BYTES, MAX_BATCH_REQUESTS } from '../defaults.js'
import { PackedColumn } from './packed-column.js'
import { Packer } from './packer.js'
import { packRow, rowWith } from './row-codec.js'

/*
 * A request: its length (4 bytes), its deadline (8), the length of its id (1), the id, the form of its operation (1),
 * the operation. Nearly all are plain sets, without conditions and notes: those have the form of the row that they will
 * become. Others are JSON after its length, then the payload.
 */
const OTHER = 0
const PLAIN_SET = 1
// A plain set whose position is given, and equals its due time.
const PLACED_SET = 2

const noBytes = Buffer.alloc(0)

/** Splits requests, in order, into the batches that the inbox stores. */
export function splitIntoBatches(requests: readonly InboxRequest[]): readonly (readonly InboxRequest[])[] {
  const batches: InboxRequest[][] = []
  let bytes = Infinity
  for (const request of requests) {
    const { operation } = request
    if (bytes >= MAX_BATCH_BYTES || batches.at(-1)!.length === MAX_BATCH_REQUESTS) {
      batches.push([])
      bytes = 0
    }
    bytes += operation.type === 'set' ? operation.payload.length : 0
    batches.at(-1)!.push(request)
  }
  return batches
}

/** Requests as arguments of the script `append`: the earliest deadline, ids and marks in turn, the requests, names. */
export function packRequests(requests: readonly InboxRequest[]): [string, Buffer, Buffer, Buffer] {
  const marks = new PackedColumn(2 * requests.length, 20)
  const packer = new Packer(requests.length * 300)
  let earliest = Infinity
  for (const { id, deadline, operation } of requests) {
    earliest = Math.min(earliest, deadline)
    marks.addString(id)
    marks.addDoubleBytes(deadline)
    packer.blockAfterInt(() => {
      packer.double(deadline).stringAfterByte(id)
      packOperation(packer, operation)
    })
  }
  return [String(earliest), marks.done(), packer.done(), packNames(requests.map(nameOfSet))]
}

/** Names as an argument of a script. A request that is no set has an empty name. */
export function packNames(names: readonly (TimerName | undefined)[]): Buffer {
  return packStrings(names.map((name) => (name === undefined ? '' : nameKey(name))))
}

export function packStrings(strings: readonly string[]): Buffer {
  const column = new PackedColumn(strings.length, 40)
  for (const string of strings) column.addString(string)
  return column.done()
}

function packOperation(packer: Packer, operation: InboxRequest['operation']): void {
  if (isPlain(operation)) {
    packer.byte(operation.position === undefined ? PLAIN_SET : PLACED_SET)
    packRow(packer, operation)
    return
  }
  const { payload, ...rest } = operation as InboxRequest['operation'] & Partial<Pick<SetOperation, 'payload'>>
  packer.byte(OTHER).blockAfterInt(() => packer.string(JSON.stringify(rest)))
  packer.bytes(payload ?? noBytes)
}

function isPlain(
  operation: InboxRequest['operation'],
): operation is Extract<RequestedOperation, { readonly type: 'set' }> {
  if (operation.type !== 'set' || operation.note !== undefined) return false
  if (operation.ifAbsent !== undefined || operation.ifRevision !== undefined) return false
  if (operation.fromDead !== undefined) return false
  return operation.position === undefined || operation.position === operation.dueAt
}

/** Adds the requests of a batch whose flag says that they still wait, up to `limit` in all. */
export function parseRequests(
  requests: InboxRequest[],
  limit: number,
  shard: number,
  flags: Buffer,
  bytes: Buffer,
): void {
  let at = 0
  for (const flag of flags) {
    const end = at + 4 + bytes.readUInt32LE(at)
    if (requests.length === limit) return
    if (flag === 0x31) requests.push(parseRequest(shard, bytes.subarray(at + 4, end)))
    at = end
  }
}

function parseRequest(shard: number, bytes: Buffer): InboxRequest {
  const idEnd = 9 + bytes[8]!
  return {
    id: bytes.toString('utf8', 9, idEnd),
    shard,
    deadline: bytes.readDoubleLE(0),
    operation: parseOperation(bytes[idEnd]!, bytes.subarray(idEnd + 1)),
  }
}

function parseOperation(form: number, bytes: Buffer): InboxRequest['operation'] {
  if (form === OTHER) {
    const jsonEnd = 4 + bytes.readUInt32LE(0)
    const rest = JSON.parse(bytes.toString('utf8', 4, jsonEnd)) as InboxRequest['operation']
    return rest.type === 'set' ? { ...rest, payload: bytes.subarray(jsonEnd) } : rest
  }
  const row = rowWith({ position: 0, revision: 0 }, bytes)
  // Written field by field: copying by spread is several times slower.
  return {
    type: 'set',
    namespace: row.namespace,
    kind: row.kind,
    key: row.key,
    identity: row.identity,
    createdAt: row.createdAt,
    dueAt: row.dueAt,
    attempt: row.attempt,
    occurrence: row.occurrence,
    payload: row.payload,
    tags: row.tags,
    details: row.details,
    ...(form === PLACED_SET && { position: row.dueAt }),
  }
}
