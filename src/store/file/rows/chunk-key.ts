/**
 * The key of a chunk: shard, level and index of its bucket, its own id, and its numbers of rows, removals and bytes.
 * All are big-endian, so the chunks of a bucket lie together, oldest first. At open the keys alone give the whole
 * directory of chunks.
 */
export const chunkKeyBytes = 27

export interface ChunkKey {
  readonly shard: number
  readonly level: number
  readonly index: number
  readonly id: number
  readonly rows: number
  readonly removals: number
  readonly bytes: number
}

export function writeChunkKey(
  into: Buffer,
  shard: number,
  level: number,
  index: number,
  id: number,
  rows: number,
  removals: number,
  bytes: number,
): Buffer {
  into[0] = shard >>> 8
  into[1] = shard
  into[2] = level
  into.writeUIntBE(index, 3, 6)
  into.writeUIntBE(id, 9, 6)
  into.writeUInt32BE(rows, 15)
  into.writeUInt32BE(removals, 19)
  into.writeUInt32BE(bytes, 23)
  return into
}

/** Reverses `writeChunkKey`. Returns undefined for a key of another length. */
export function parseChunkKey(key: Uint8Array): ChunkKey | undefined {
  if (key.length !== chunkKeyBytes) return undefined
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length)
  return {
    shard: bytes.readUInt16BE(0),
    level: bytes[2]!,
    index: bytes.readUIntBE(3, 6),
    id: bytes.readUIntBE(9, 6),
    rows: bytes.readUInt32BE(15),
    removals: bytes.readUInt32BE(19),
    bytes: bytes.readUInt32BE(23),
  }
}
