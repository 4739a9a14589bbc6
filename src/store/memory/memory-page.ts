import type { TimerRow } from '../../timer/index.js'
import type { Page } from '../store.js'
import { bytesOf } from './memory-row.js'

/** A page over rows that are already there. */
export function pageOf(rows: readonly TimerRow[]): Page {
  return {
    size: rows.length,
    bytes: rows.reduce((sum, row) => sum + bytesOf(row), 0),
    positions: Float64Array.from(rows, (row) => row.position),
    revisions: Float64Array.from(rows, (row) => row.revision),
    dueAts: Float64Array.from(rows, (row) => row.dueAt),
    row: (index) => rows[index]!,
  }
}
