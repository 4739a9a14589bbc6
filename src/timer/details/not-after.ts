import { decodeDetails, occurrenceDueAt } from './details.js'
import type { TimerRow } from '../timer-row.js'

/** The latest start of a timer: an instant, or a time after the due time of each occurrence. */
export type NotAfter = { readonly at: number } | { readonly withinMs: number }

// Few timers have a latest start. To look for the field's name costs less than to parse the details.
const FIELD = '"notAfter":'

/** No attempt at the current occurrence may start after this instant; Infinity if it has no latest start. */
export function latestStartOf(row: TimerRow): number {
  if (row.details === '' || !row.details.includes(FIELD)) return Infinity
  const { notAfter } = decodeDetails(row.details)
  if (notAfter === undefined) return Infinity
  return 'at' in notAfter ? notAfter.at : occurrenceDueAt(row) + notAfter.withinMs
}

/** The reasons of dead letters that never started begin with this. */
export const MISSED = 'missed: '
