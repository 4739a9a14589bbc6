/** Counts by microsecond up to 100 ms, in memory that threads share. */
const MOST_MICROS = 100_000

export class LateHistogram {
  readonly counts: Uint32Array

  constructor(counts: Uint32Array = new Uint32Array(new SharedArrayBuffer((MOST_MICROS + 1) * 4))) {
    this.counts = counts
  }

  add(lateMs: number): void {
    this.counts[Math.max(0, Math.min(MOST_MICROS, Math.floor(lateMs * 1000)))]!++
  }

  clear(): void {
    this.counts.fill(0)
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  /** In microseconds. */
  percentile(part: number): number {
    let left = this.count * part
    const at = this.counts.findIndex((count) => (left -= count) < 0)
    return at < 0 ? MOST_MICROS : at
  }
}
