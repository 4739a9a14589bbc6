/** How late timers fired: one count for each power of two of milliseconds. */
export class LatenessHistogram {
  /** [0, 1) ms, [1, 2), [2, 4), …; the last has no upper bound. */
  readonly counts = new Float64Array(32)
  count = 0
  sumMs = 0

  add(lateMs: number): void {
    this.counts[bucketOf(lateMs)]!++
    this.count++
    this.sumMs += Math.max(0, lateMs)
  }

  /** Takes back what was added. */
  remove(lateMs: number): void {
    this.counts[bucketOf(lateMs)]!--
    this.count--
    this.sumMs -= Math.max(0, lateMs)
  }

  addAll(other: LatenessHistogram): void {
    for (const [bucket, count] of other.counts.entries()) this.counts[bucket]! += count
    this.count += other.count
    this.sumMs += other.sumMs
  }

  /** An upper bound in milliseconds of the lateness of this part of the timers: 0.99 for the 99th percentile. */
  quantile(share: number): number {
    let left = Math.ceil(this.count * share)
    for (const [bucket, count] of this.counts.entries()) {
      left -= count
      if (left <= 0) return 2 ** bucket
    }
    return 0
  }
}

function bucketOf(lateMs: number): number {
  return lateMs < 1 ? 0 : Math.min(31, 32 - Math.clz32(Math.min(lateMs, 0x7fff_ffff)))
}
