/**
 * The key of a chunk: shard, width and number of its bucket, its own number, how many rows,
 * removals and bytes it has, all big-endian, so that the chunks of a bucket lie together in the order in which they came,
 * and the whole directory can be read from the keys alone.
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

/** What `writeChunkKey` was given; undefined when it never was. */
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
