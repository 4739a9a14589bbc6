import { garbageOf } from './memory/garbage-counters.js'
import { poolWords, workerAt, workerWords } from './memory/pool-memory.js'

/** What one worker has done, as of its last turn. Counts wrap around at 2^31. */
export interface WorkerStats {
  readonly worker: number
  /** Timers in its wheel, including some that other threads have cancelled. */
  readonly scheduled: number
  /** Tasks that have ended, and those of them that failed. */
  readonly fired: number
  readonly failed: number
  /** Tasks that have started and wait for a promise. */
  readonly running: number
  /** Timers that this worker has cancelled. */
  readonly cancelled: number
  /** Entries of its wheel that other threads have made stale, and that it has not removed yet. */
  readonly stale: number
  /** Those that it has removed. */
  readonly removed: number
  /** Timers that came from a worker that ended, or from the thread that started the pool. */
  readonly adopted: number
}

/** What a pool counted, in all and for each worker. */
export interface PoolStats {
  readonly workers: readonly WorkerStats[]
  /** Timers of all workers, and those that no worker has yet. */
  readonly scheduled: number
  /** Tasks that were running when their worker died. */
  readonly interrupted: number
  /** Workers that ended without being asked to. */
  readonly deaths: number
  /** How late the metronome woke a worker at most, in microseconds. */
  readonly metronomeDelayMicros: number
  /** How often the metronome was awake, and how often it was more than 10 ms late: the machine was too busy for it. */
  readonly metronomeBeats: number
  readonly metronomeLate: number
}

interface StarterCounts {
  readonly waiting: number
  readonly interrupted: number
  readonly deaths: number
}

export function statsOf(control: Int32Array, owners: readonly number[], counts: StarterCounts): PoolStats {
  const { SCHEDULED, FIRED, FAILED, RUNNING, CANCELLED, REMOVED, MOVED_HERE } = workerWords
  const workers = owners.map((worker) => {
    const at = workerAt(worker)
    return {
      worker,
      scheduled: control[at + SCHEDULED]!,
      fired: control[at + FIRED]!,
      failed: control[at + FAILED]!,
      running: control[at + RUNNING]!,
      cancelled: control[at + CANCELLED]!,
      stale: Math.max(0, (garbageOf(control, worker) - control[at + REMOVED]!) | 0),
      removed: control[at + REMOVED]!,
      adopted: control[at + MOVED_HERE]!,
    }
  })
  return {
    workers,
    scheduled: workers.reduce((sum, { scheduled }) => sum + scheduled, counts.waiting),
    interrupted: counts.interrupted,
    deaths: counts.deaths,
    metronomeDelayMicros: Atomics.load(control, poolWords.METRONOME_DELAY),
    metronomeBeats: Atomics.load(control, poolWords.METRONOME_BEATS),
    metronomeLate: Atomics.load(control, poolWords.METRONOME_LATE),
  }
}
