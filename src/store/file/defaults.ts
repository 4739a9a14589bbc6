/**
 * Sizes that trade memory for speed. The defaults suit timers of some hundred bytes. They are options so that tests
 * can make everything small.
 */
export interface Tuning {
  /** How many rows of the stretch being read are kept in memory. */
  readonly segmentRows: number
  /** A bucket with more rows than this is split before it is read. */
  readonly heavyRows: number
  /** Garbage in a bucket smaller than this is not worth a rewrite. */
  readonly litterBytes: number
  /** A bucket with more chunks than this, most of them small, is repacked. */
  readonly manyChunks: number
  /** How many rows a list looks at before other calls get a turn. The default takes about a millisecond. */
  readonly listedRows: number
}

export const tuningDefaults: Tuning = Object.freeze({
  segmentRows: 65_536,
  heavyRows: 262_144,
  litterBytes: 65_536,
  manyChunks: 64,
  listedRows: 10_000,
})

export const openDefaults = Object.freeze({
  shardCount: 1,
  /**
   * The highest `maxPayloadBytes`: a row's offset in a chunk has 32 bits, and memory holds several copies of a payload.
   */
  maxPayloadBytesLimit: 64 << 20,
  /** How many rows opening indexes before it gives other work a turn. */
  indexedRowsPerTurn: 10_000,
  /** `carillon doctor` warns when less is free on the disk. */
  lowDiskBytes: 1024 ** 3,
})

export const commitDefaults = Object.freeze({
  /** A batch that has reached this takes no more calls. */
  maxBatchBytes: 8 << 20,
})

export const spaceDefaults = Object.freeze({
  /** A commit is refused unless this much stays free beside twice its own size. */
  spareBytes: 65_536,
  /** With less free than this, the disk is watched at each call that adds timers, and the reserve is made. */
  lowBytes: 256 << 20,
  /** What is kept for leases, cancels and settlements: this part of the disk … */
  reservePart: 1 / 16,
  /** … but at most this: a commit of full size fits twice. */
  maxReserveBytes: 20 << 20,
})

export const readDefaults = Object.freeze({
  /** A stretch with more bytes of chunks than this does not keep them in memory. */
  maxKeptBytes: 64 << 20,
  /** How many rows a histogram, a count or a usage query looks at before other calls get a turn. */
  rowsPerTurn: 20_000,
  /** What a bucket costs such a query beside its rows, in rows. */
  rowsPerBucket: 100,
  /** How many rows a list looks at before it can answer: at first, and when few of them match. */
  minListedRows: 4096,
  maxListedRows: 1 << 20,
  /** A page of a list looks at so many rows before its time budget counts. */
  minBudgetedRows: 2000,
})

/** How much one rewriting step reads. */
export const rewriteDefaults = Object.freeze({
  // Repacking reads little at a time, because every other call waits for it.
  repackStepBytes: 4 << 20,
  repackStepRows: 5000,
  // Splitting reads more, so that each finer bucket gets chunks of a useful size: about `splitPartBytes` each.
  minSplitStepBytes: 4 << 20,
  maxSplitStepBytes: 32 << 20,
  splitPartBytes: 8192,
})

export const sweepDefaults = Object.freeze({
  /** The most chunks that one sweep drops, so that its commit stays short. */
  maxDroppedChunks: 4096,
  /** How many segments of the key index one sweep scrubs. */
  scrubbedSegments: 256,
  /** A chunk smaller than this is small. */
  smallChunkBytes: 2048,
  /** A heavy bucket is split when it begins within this many of its own widths. */
  nearWidths: 1 / 4,
  /** A finer bucket is not repacked when the settled level has passed half of it: the rest follows in minutes. */
  minPassedLevel: 2,
  /** The key index is scrubbed when one in this many of its names is gone … */
  scrubRatio: 3,
  /** … and at least this many are. */
  minScrubbedNames: 50_000,
})

export const compactDefaults = Object.freeze({
  /** A compaction is given up when more than this is written while the file is copied. */
  maxMissedBytes: 256 << 20,
  /** How much of it is repeated in the copy before other work gets a turn. */
  missedBytesPerTurn: 1 << 20,
})
