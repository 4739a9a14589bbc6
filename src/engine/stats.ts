/** How late timers fired: one count for each power of two of milliseconds. */
export class LatenessHistogram {
  /** [0, 1) ms, [1, 2), [2, 4), … the last takes all beyond. */
  readonly counts = new Float64Array(32)
  count = 0

  add(lateMs: number): void {
    this.counts[lateMs < 1 ? 0 : Math.min(31, 32 - Math.clz32(Math.min(lateMs, 0x7fff_ffff)))]!++
    this.count++
  }

  addAll(other: LatenessHistogram): void {
    for (const [bucket, count] of other.counts.entries()) this.counts[bucket]! += count
    this.count += other.count
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

/** What an engine did: plain sums that only rise. */
export class EngineCounts {
  /** Attempts that were started. */
  fired = 0
  /** Attempts that ended well. */
  done = 0
  /** Attempts whose timer was set anew meanwhile, so that nothing followed. */
  superseded = 0
  retried = 0
  dead = 0
  /** Timers whose end is durable. */
  settled = 0
  /** Rows rewritten because their attempt took long. */
  carried = 0
  /** Calls that read rows, and the rows they brought. */
  loads = 0
  loadedRows = 0
  /** Calls that wrote timers, and the operations in them. */
  writes = 0
  operations = 0
  settlements = 0
  /** Rows deleted one by one, by look-ahead. */
  rowDeletes = 0
  /** Range deletions, and the rows they removed. */
  sweeps = 0
  sweptRows = 0
  readonly lateness = new LatenessHistogram()

  started(lateMs: number): void {
    this.fired++
    this.lateness.add(lateMs)
  }

  addAll(other: EngineCounts): void {
    this.lateness.addAll(other.lateness)
    for (const name of sums) this[name] += other[name]
  }
}

const sums = [
  'fired',
  'done',
  'superseded',
  'retried',
  'dead',
  'settled',
  'carried',
  'loads',
  'loadedRows',
  'writes',
  'operations',
  'settlements',
  'rowDeletes',
  'sweeps',
  'sweptRows',
] as const

/** One shard as it is now. */
export interface ShardView {
  readonly shard: number
  readonly epoch: number
  /** Rows in memory, and about what they take. */
  readonly inMemory: number
  readonly bytes: number
  /** Attempts under way. */
  readonly inFlight: number
  /** Operations that wait to be written. */
  readonly queued: number
  /** How far ahead of now timers are loaded, and up to where they were; when the next load is planned. */
  readonly windowMs: number
  readonly readPosition: number
  readonly nextLoadAt: number
  /** Everything before it is settled. */
  readonly settledPosition: number
  readonly isLeased: boolean
}

/** An instance as it is now. */
export interface EngineStats {
  readonly memberId: string
  readonly strategy: string
  readonly shards: readonly ShardView[]
  /** Since this instance was opened, over all shards it had. */
  readonly counts: EngineCounts
}
