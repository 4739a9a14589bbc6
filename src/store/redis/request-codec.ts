import type { Request, RequestedOperation, SetOperation } from '../store.js'
import { PackedColumn } from './packed-column.js'
import { Packer } from './packer.js'
import { packRow, rowWith } from './row-codec.js'

/*
 * A request is its length (4 bytes), its deadline (8), the length of its id (1) and the id, a byte that tells how its
 * operation is written, and the operation: as JSON after its length and the payload as it is; or, as nearly all
 * are, a set without conditions and notes as the row it will become.
 */
const OTHER = 0
const PLAIN_SET = 1
// The same, and it asked for the position of its due time.
const PLACED_SET = 2

const MOST_REQUESTS = 250
const MOST_BYTES = 1 << 20

const nothing = Buffer.alloc(0)

/** Requests in their order, in batches that lie in the inbox as one. */
export function batchesOf(requests: readonly Request[]): readonly (readonly Request[])[] {
  const batches: Request[][] = []
  let bytes = Infinity
  for (const request of requests) {
    const { operation } = request
    if (bytes >= MOST_BYTES || batches.at(-1)!.length === MOST_REQUESTS) {
      batches.push([])
      bytes = 0
    }
    bytes += operation.type === 'set' ? operation.payload.length : 0
    batches.at(-1)!.push(request)
  }
  return batches
}

/** Requests as the script `append` takes them: the earliest deadline, the marks, and the requests. */
export function packRequests(requests: readonly Request[]): [string, Buffer, Buffer] {
  const marks = new PackedColumn(2 * requests.length, 20)
  const packer = new Packer(requests.length * 300)
  let earliest = Infinity
  for (const { id, deadline, operation } of requests) {
    earliest = Math.min(earliest, deadline)
    marks.addText(id)
    marks.addBytesOfDouble(deadline)
    packer.blockAfterInt(() => {
      packer.double(deadline).textAfterByte(id)
      packOperation(packer, operation)
    })
  }
  return [String(earliest), marks.done(), packer.done()]
}

function packOperation(packer: Packer, operation: RequestedOperation): void {
  if (isPlain(operation)) {
    packer.byte(operation.position === undefined ? PLAIN_SET : PLACED_SET)
    packRow(packer, operation)
    return
  }
  const { payload, ...rest } = operation as RequestedOperation & Partial<Pick<SetOperation, 'payload'>>
  packer.byte(OTHER).blockAfterInt(() => packer.text(JSON.stringify(rest)))
  packer.bytes(payload ?? nothing)
}

function isPlain(
  operation: RequestedOperation,
): operation is Extract<RequestedOperation, { readonly type: 'set' }> {
  if (operation.type !== 'set' || operation.note !== undefined) return false
  if (operation.ifAbsent !== undefined || operation.ifRevision !== undefined) return false
  if (operation.fromDead !== undefined) return false
  return operation.position === undefined || operation.position === operation.dueAt
}

/** Adds to `requests` those of a batch whose flag says that they wait, up to `limit` in all. */
export function parseRequests(
  requests: Request[],
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

function parseRequest(shard: number, bytes: Buffer): Request {
  const idEnd = 9 + bytes[8]!
  return {
    id: bytes.toString('utf8', 9, idEnd),
    shard,
    deadline: bytes.readDoubleLE(0),
    operation: parseOperation(bytes[idEnd]!, bytes.subarray(idEnd + 1)),
  }
}

function parseOperation(how: number, bytes: Buffer): RequestedOperation {
  if (how === OTHER) {
    const jsonEnd = 4 + bytes.readUInt32LE(0)
    const rest = JSON.parse(bytes.toString('utf8', 4, jsonEnd)) as RequestedOperation
    return rest.type === 'set' ? { ...rest, payload: bytes.subarray(jsonEnd) } : rest
  }
  const row = rowWith({ position: 0, revision: 0 }, bytes)
  // Written out field by field: copying by spread costs several times as much.
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
    ...(how === PLACED_SET && { position: row.dueAt }),
  }
}
