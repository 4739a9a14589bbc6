import { LatenessHistogram } from './lateness-histogram.js'

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
  /** Due rows rewritten farther up and dropped from memory, because they could not start and it was crowded. */
  putBack = 0
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
  'putBack',
  'loads',
  'loadedRows',
  'writes',
  'operations',
  'settlements',
  'rowDeletes',
  'sweeps',
  'sweptRows',
] as const
