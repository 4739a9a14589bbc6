/** How late timers fired: one count for each power of two of milliseconds. */
export class LatenessHistogram {
  /** [0, 1) ms, [1, 2), [2, 4), … the last takes all beyond. */
  readonly counts = new Float64Array(32)
  count = 0

  add(lateMs: number): void {
    this.counts[lateMs < 1 ? 0 : Math.min(31, 32 - Math.clz32(Math.min(lateMs, 0x7fff_ffff)))]!++
    this.count++
  }

  /** An upper bound of the lateness of this share of them: 0.99 for the 99th percentile. */
  quantile(share: number): number {
    let left = Math.ceil(this.count * share)
    for (const [bucket, count] of this.counts.entries()) {
      left -= count
      if (left <= 0) return bucket === 0 ? 1 : 2 ** bucket
    }
    return 0
  }
}

/** What a shard's engine did and has, as plain numbers. */
export class ShardStats {
  readonly lateness = new LatenessHistogram()
  started = 0
  done = 0
  superseded = 0
  retried = 0
  dead = 0
  settled = 0
  carried = 0
  inFlight = 0
  loads = 0
  loadedRows = 0
  writes = 0
  writtenOperations = 0
  settlements = 0
  rowDeletes = 0
  sweeps = 0
  swept = 0

  fired(lateMs: number): void {
    this.started++
    this.lateness.add(lateMs)
  }
}
