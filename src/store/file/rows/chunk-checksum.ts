import { crc32 } from 'node:zlib'
import { StoreError } from '../../../error/index.js'
import { Chunk, rowOf, tailBytes } from './chunk.js'
import { chunkLayout } from './chunk-layout.js'
import type { TimerRow } from '../../../timer/index.js'

const { CHECKED, checksum } = chunkLayout

/** Writes the checksum of a sealed chunk into its last bytes. */
export function putChecksum(sealed: Buffer): void {
  const at = sealed.length - checksum
  sealed.writeUInt32LE(crc32(sealed.subarray(0, at)), at)
}

/** A chunk that was read as a whole. */
export interface CheckedChunk {
  readonly rows: readonly TimerRow[]
  /** Chunks of older versions have none. */
  readonly hasChecksum: boolean
}

/** Reads every row of a chunk, and its checksum. Throws if anything does not fit. */
export function checkChunk(bytes: Buffer): CheckedChunk {
  const chunk = new Chunk(bytes)
  const hasChecksum = (bytes[1]! & CHECKED) !== 0
  if (hasChecksum) {
    const at = bytes.length - checksum
    if (bytes.readUInt32LE(at) !== crc32(bytes.subarray(0, at)))
      throw new StoreError('store-damaged', 'its checksum is wrong')
  }
  const rows: TimerRow[] = []
  const end = bytes.length
  for (let ordinal = 0; ordinal < chunk.rows; ordinal++) {
    const tail = chunk.tail(ordinal)
    if (tail + chunkLayout.tail > end || tail + tailBytes(chunk, tail) > end)
      throw new StoreError('store-damaged', `its row ${ordinal} does not fit`)
    if (chunk.scopes[chunk.view.getUint16(tail + 1, true)] === undefined)
      throw new StoreError('store-damaged', `its row ${ordinal} has no namespace and kind`)
    rows.push(rowOf(chunk, ordinal, false))
  }
  return { rows, hasChecksum }
}
