/** How late timers fired: one count for each power of two of milliseconds. */
export class LatenessHistogram {
  /** [0, 1) ms, [1, 2), [2, 4), … the last takes all beyond. */
  readonly counts = new Float64Array(32)
  count = 0
  sumMs = 0

  add(lateMs: number): void {
    this.counts[lateMs < 1 ? 0 : Math.min(31, 32 - Math.clz32(Math.min(lateMs, 0x7fff_ffff)))]!++
    this.count++
    this.sumMs += Math.max(0, lateMs)
  }

  addAll(other: LatenessHistogram): void {
    for (const [bucket, count] of other.counts.entries()) this.counts[bucket]! += count
    this.count += other.count
    this.sumMs += other.sumMs
  }

  /** An upper bound of the lateness of this share of them, in milliseconds: 0.99 for the 99th percentile. */
  quantile(share: number): number {
    let left = Math.ceil(this.count * share)
    for (const [bucket, count] of this.counts.entries()) {
      left -= count
      if (left <= 0) return 2 ** bucket
    }
    return 0
  }
}
