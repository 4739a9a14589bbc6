import { readFileSync } from 'node:fs'

const TYPES = [
  'write',
  'truncate',
  'sync',
  'create',
  'make-folder',
  'rename',
  'unlink',
  'remove-folder',
] as const
const HEAD_BYTES = 32
const DURABLE = 1

/** One call that changed or flushed a file, as shim.c recorded it. */
export interface DiskCall {
  readonly type: (typeof TYPES)[number]
  readonly path: string
  /** The new path of a rename. */
  readonly second: string
  /** The offset of a write, or the new length of a truncated file. */
  readonly offset: number
  readonly bytes: Buffer
  /** The write was on the disk when the call returned. */
  readonly isDurable: boolean
}

/** Reads the calls of a recording, in order. */
export function readRecording(file: string): DiskCall[] {
  const all = readFileSync(file)
  const calls: DiskCall[] = []
  for (let at = 0; at + HEAD_BYTES <= all.length;) {
    const type = TYPES[all.readUInt32LE(at) - 1]
    const flags = all.readUInt32LE(at + 4)
    const pathLength = all.readUInt32LE(at + 8)
    const secondLength = all.readUInt32LE(at + 12)
    const offset = Number(all.readBigUInt64LE(at + 16))
    const length = Number(all.readBigUInt64LE(at + 24))
    if (type === undefined) throw new Error(`the recording is damaged at byte ${at}`)
    at += HEAD_BYTES
    const path = all.toString('utf8', at, (at += pathLength))
    const second = all.toString('utf8', at, (at += secondLength))
    const bytes = all.subarray(at, (at += type === 'write' ? length : 0))
    calls.push({ type, path, second, offset, bytes, isDurable: (flags & DURABLE) !== 0 })
  }
  return calls
}
