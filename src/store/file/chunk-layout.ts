/**
 * How a chunk lies on the disk, little-endian, version 1:
 *
 *     0  u8   version            16  u32  where the scopes begin
 *     1  u8   flags              20  u32  its length in bytes
 *     2  u16  scopes             24  f64  start of its bucket
 *     4  u32  rows               32  f64  revision of each row
 *     8  u32  removals               f64  revision of each row of this bucket that is removed
 *    12  u32  where tails begin      u32  position of each row, from the start of the bucket
 *                                    u32  where the tail of each row begins, from the first tail
 *                                         the tails
 *                                         the scopes: (u8 length, namespace, u8 length, kind) each
 *
 * and a tail, the rest of a row:
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
  /** Due at another time than its position. */
  DUE: 1,
  /** Has attempts or occurrences behind it. */
  PROGRESS: 2,
  /** Has tags or details. */
  EXTRA: 4,
  /** Its key has characters of more than 7 bits, in UTF-8. */
  WIDE: 8,
  /** A chunk is closed when its tails reach this. With the rest it fills two pages of 8 KiB, less a header. */
  fullTailBytes: 14_600,
  maxRows: 512,
})
