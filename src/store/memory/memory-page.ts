import type { TimerRow } from '../../timer/index.js'
import type { RowPage } from '../store.js'
import { bytesOf } from './memory-row.js'

/** A page of rows that are in memory already. */
export function pageOf(rows: readonly TimerRow[]): RowPage {
  return {
    size: rows.length,
    bytes: rows.reduce((sum, row) => sum + bytesOf(row), 0),
    positions: Float64Array.from(rows, (row) => row.position),
    revisions: Float64Array.from(rows, (row) => row.revision),
    dueAts: Float64Array.from(rows, (row) => row.dueAt),
    row: (index) => rows[index]!,
  }
}
