import type { TimerName, TimerRow } from '../timer/index.js'
import type { TimerFilter } from './store.js'

/** Whether a row matches a filter. */
export function matches(row: TimerRow, filter: TimerFilter): boolean {
  return (
    row.namespace === filter.namespace &&
    (filter.kind === undefined || row.kind === filter.kind) &&
    (filter.keyPrefix === undefined || row.key.startsWith(filter.keyPrefix)) &&
    (filter.keyPart === undefined || row.key.includes(filter.keyPart)) &&
    (filter.tag === undefined || row.tags.includes(filter.tag)) &&
    (filter.dueFromInclusive === undefined || row.dueAt >= filter.dueFromInclusive) &&
    (filter.dueUntilExclusive === undefined || row.dueAt < filter.dueUntilExclusive) &&
    (filter.attemptFromInclusive === undefined || row.attempt >= filter.attemptFromInclusive) &&
    (filter.attemptUntilExclusive === undefined || row.attempt < filter.attemptUntilExclusive) &&
    (filter.isRecurring === undefined || hasSchedule(row.details) === filter.isRecurring)
  )
}

/** What the details of a recurring timer contain. A string cannot contain it, because JSON escapes quotes. */
export const SCHEDULE_FIELD = '"on":'

/** Whether a timer with these details has a schedule. It does not parse them: they may be damaged, and this is fast. */
export function hasSchedule(details: string): boolean {
  return details.includes(SCHEDULE_FIELD)
}

/** Whether a name matches a filter by namespace, kind and key. */
export function matchesName(
  name: TimerName,
  filter: { readonly namespace: string; readonly kind?: string; readonly key?: string },
): boolean {
  return (
    name.namespace === filter.namespace &&
    (filter.kind === undefined || name.kind === filter.kind) &&
    (filter.key === undefined || name.key === filter.key)
  )
}
