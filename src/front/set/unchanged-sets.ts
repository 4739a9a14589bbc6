import { parseSchedule } from '../../schedule/index.js'
import {
  decodeDetails,
  isRevisionOf,
  isSameRetry,
  nameKey,
  parseRetry,
  type RetryOptions,
  type TimerDetails,
  type TimerRow,
} from '../../timer/index.js'
import type { Records } from '../read/records.js'
import type { SetRequest } from './set-request.js'

/**
 * Finds the recurring sets of a call that would change nothing: the timer is there with the same schedule, payload, tags
 * and options. Such a set is not submitted. The timer keeps its due time, its identity and its revision, so an occurrence
 * that was missed and still waits is not lost.
 *
 * An unchanged set takes effect when the store reads its row: at that moment the row is as the caller wants it. A call
 * that was acknowledged before, to any process, is in that row (promise 17). A call at the same time comes after it. Proven by test/front/unchanged-schedule.test.ts and test/store/postgres/unchanged-schedule.test.ts.
 */
export class UnchangedSets {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  /** The current rows of unchanged sets, by index. `isRecurring` says which operations have a schedule. */
  async find(
    operations: readonly SetRequest[],
    isRecurring: (index: number) => boolean,
  ): Promise<ReadonlyMap<number, TimerRow>> {
    const indexes = [...operations.keys()].filter(
      (index) => isRecurring(index) && operations[index]!.ifAbsent !== true,
    )
    const rows = await this.#records.current(indexes.map((index) => operations[index]!))
    const rowOf = new Map(indexes.map((index, at) => [index, rows[at]]))
    const unchanged = new Map<number, TimerRow>()
    // Names that an earlier operation of the call changes: their rows are no longer current for later ones.
    const changed = new Set<string>()
    for (const [index, operation] of operations.entries()) {
      const row = rowOf.get(index)
      const name = nameKey(operation)
      if (row !== undefined && !changed.has(name) && isUnchanged(row, operation)) unchanged.set(index, row)
      else changed.add(name)
    }
    return unchanged
  }
}

function isUnchanged(row: TimerRow, operation: SetRequest): boolean {
  const { ifRevision, payload, tags, details } = operation
  if (ifRevision !== undefined && !isRevisionOf(row, ifRevision)) return false
  if (Buffer.compare(row.payload, payload) !== 0) return false
  if (!areSameTags(row.tags, tags)) return false
  const [stored, wanted] = [optionsIn(row.details), optionsIn(details)]
  return (
    isSameSchedule(stored.on, wanted.on) &&
    isSameRetryOption(stored.retry, wanted.retry) &&
    JSON.stringify(stored.others) === JSON.stringify(wanted.others)
  )
}

/**
 * The options in the details of a row. Left out is what the timer gets on its way, and the trace: it names the call that
 * set the timer, and each call has another. A field that is unknown here counts as an option.
 */
function optionsIn(details: string): Pick<TimerDetails, 'on' | 'retry'> & { readonly others: object } {
  const {
    on,
    retry,
    heldBy: _heldBy,
    firstDueAt: _firstDueAt,
    offsetMs: _offsetMs,
    pausedDueAt: _pausedDueAt,
    pause: _pause,
    trace: _trace,
    kept: _kept,
    ...others
  } = decodeDetails(details)
  return { on, ...(retry && { retry }), others }
}

function isSameSchedule(stored: unknown, wanted: unknown): boolean {
  if (stored === undefined || wanted === undefined) return false
  const text = JSON.stringify(wanted)
  // An older version may have stored a schedule without a field that has a default now.
  return JSON.stringify(stored) === text || JSON.stringify(parseSchedule(stored)) === text
}

function isSameRetryOption(stored: RetryOptions | undefined, wanted: RetryOptions | undefined): boolean {
  if (stored === undefined || wanted === undefined) return stored === wanted
  return isSameRetry(parseRetry(stored), parseRetry(wanted))
}

function areSameTags(stored: readonly string[], wanted: readonly string[]): boolean {
  if (stored.length !== wanted.length) return false
  const sorted = wanted.toSorted()
  return stored.toSorted().every((tag, index) => tag === sorted[index])
}
