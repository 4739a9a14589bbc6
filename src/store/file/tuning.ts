/**
 * Sizes that trade memory for speed. The defaults suit timers of some hundred bytes; they are options so that
 * tests can make everything small.
 */
export interface Tuning {
  /** As many rows as a stretch that is being read may keep in memory. */
  readonly segmentRows: number
  /** A bucket with more rows than this is split before it is read. */
  readonly heavyRows: number
  /** Leftovers in a bucket lighter than this are not worth a rewrite. */
  readonly litterBytes: number
  /** A bucket with more chunks than this, most of them small, is packed anew. */
  readonly manyChunks: number
}

export const tuningDefaults: Tuning = Object.freeze({
  segmentRows: 65_536,
  heavyRows: 262_144,
  litterBytes: 65_536,
  manyChunks: 64,
})
