/**
 * The layout of a chunk on the disk, little-endian, version 1:
 *
 *     0  u8   version            16  u32  offset of the scopes
 *     1  u8   flags              20  u32  its length in bytes
 *     2  u16  scopes             24  f64  start of its bucket
 *     4  u32  rows               32  f64  revision of each row
 *     8  u32  removals               f64  revision of each removed row of this bucket
 *    12  u32  offset of the tails    u32  position of each row, relative to the bucket's start
 *                                    u32  offset of each row's tail, relative to the first tail
 *                                         the tails
 *                                         the scopes: (u8 length, namespace, u8 length, kind) each
 *                                    u32  with CHECKED: CRC-32 of everything before
 *
 * A tail is the rest of a row:
 *
 *     0  u8   flags of the row        9  f64  identity
 *     1  u16  its scope              17  f64  createdAt
 *     3  u16  bytes of its key       25       with DUE: f64 dueAt; with PROGRESS: u32 attempt, u32 occurrence;
 *     5  u32  bytes of its payload            with EXTRA: u16 bytes of tags (JSON), u16 bytes of details, both;
 *                                             then the key, then the payload
 */
export const chunkLayout = Object.freeze({
  version: 1,
  header: 32,
  tail: 25,
  /** The bytes of the checksum. */
  checksum: 4,
  /** A flag of the chunk: it ends with its checksum. Older versions wrote none, and ignore it. */
  CHECKED: 1,
  /** The due time differs from the position. */
  DUE: 1,
  /** The row has attempts or occurrences. */
  PROGRESS: 2,
  /** The row has tags or details. */
  EXTRA: 4,
  /** The key has characters outside ASCII and is stored as UTF-8. */
  WIDE: 8,
  /** A chunk is sealed when its tails reach this size. With the rest it fills two pages of 8 KiB, less a header. */
  fullTailBytes: 14_600,
  maxRows: 512,
})
