import type { Firing, Outcome, TimerRow } from '../timer/index.js'
import { LatenessHistogram } from './lateness-histogram.js'

/** How late an attempt began: a timer cannot fire before it was accepted, however long it had been due by then. */
export function lateMsOf(
  { dueAt, createdAt }: Pick<TimerRow, 'dueAt' | 'createdAt'>,
  firedAt: number,
): number {
  return Math.max(0, firedAt - Math.max(dueAt, createdAt))
}

/** What an engine has done, as counters. */
export class EngineCounts {
  /** Attempts that were started. */
  fired = 0
  /** Attempts that ended as done. */
  done = 0
  /** Attempts whose timer was replaced meanwhile, so that nothing followed. */
  superseded = 0
  retried = 0
  dead = 0
  /** Timers that were not started, because their latest start had passed. They count as dead, too. */
  missed = 0
  /** Timers whose row could not be read when they were due. They count as dead, too. */
  unreadable = 0
  /** Finished timers that are settled. */
  settled = 0
  /** Rows that were carried. */
  carried = 0
  /** Due rows that were put back, because they could not start and memory was crowded. */
  putBack = 0
  /** Due rows that were offered to other members, because this instance does not handle their kind. */
  offered = 0
  /** Loads, and the rows that they brought. */
  loads = 0
  loadedRows = 0
  /** Writes, and the operations in them. */
  writes = 0
  operations = 0
  settlements = 0
  /** Rows that were removed one by one. */
  rowDeletes = 0
  /** Sweeps, and the rows that they removed. */
  sweeps = 0
  sweptRows = 0
  readonly lateness = new LatenessHistogram()

  started(lateMs: number): void {
    this.fired++
    this.lateness.add(lateMs)
  }

  /** An attempt that was counted as started was not. */
  notStarted(lateMs: number): void {
    this.fired--
    this.lateness.remove(lateMs)
  }

  /** An attempt has ended. One that was missed was not started after all. */
  ended({ firedAt, row }: Firing, outcome: Outcome): void {
    if (outcome.type !== 'dead') return
    if (outcome.isUnreadable === true) this.unreadable++
    if (outcome.isMissed !== true) return
    this.missed++
    this.notStarted(lateMsOf(row, firedAt))
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
  'missed',
  'unreadable',
  'settled',
  'carried',
  'putBack',
  'offered',
  'loads',
  'loadedRows',
  'writes',
  'operations',
  'settlements',
  'rowDeletes',
  'sweeps',
  'sweptRows',
] as const
