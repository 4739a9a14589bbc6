/**
 * Copies bytes between two views and answers the offset after the last one. It is for thousands of copies of a few
 * hundred bytes: `set` and `copy` would allocate a view for each, and copying byte by byte takes three times as long.
 */
export function copyBytes(source: DataView, from: number, end: number, target: DataView, at: number): number {
  let next = from
  for (; next + 8 <= end; next += 8, at += 8) {
    target.setInt32(at, source.getInt32(next))
    target.setInt32(at + 4, source.getInt32(next + 4))
  }
  for (; next < end; next++, at++) target.setUint8(at, source.getUint8(next))
  return at
}
