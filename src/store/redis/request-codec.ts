import type { Request, RequestedOperation, SetOperation } from '../store.js'
import type { Packer } from './packer.js'

const nothing = Buffer.alloc(0)

/** A request as the script `append` unpacks it: id, deadline, then the operation as JSON and the payload as it is. */
export function packRequest(packer: Packer, { id, deadline, operation }: Request): void {
  const { payload, ...rest } = operation as RequestedOperation & Partial<Pick<SetOperation, 'payload'>>
  packer
    .textAfterByte(id)
    .double(deadline)
    .blockAfterInt(() => {
      packer.blockAfterInt(() => packer.text(JSON.stringify(rest)))
      packer.bytes(payload ?? nothing)
    })
}

/** A request as it lies in the inbox, after its deadline. */
export function parseRequest(shard: number, id: string, bytes: Buffer): Request {
  const jsonEnd = 12 + bytes.readUInt32LE(8)
  const rest = JSON.parse(bytes.toString('utf8', 12, jsonEnd)) as RequestedOperation
  const operation = rest.type === 'set' ? { ...rest, payload: bytes.subarray(jsonEnd) } : rest
  return { id, shard, deadline: bytes.readDoubleLE(0), operation }
}
